#include "pserver/job_totals.h"

#include <algorithm>
#include <set>

#include "obs/tally.h"

namespace paddle {
namespace {

// Trainers of async that are further apart than so many periods get totals of passes only.
constexpr size_t most_periods = 64;
constexpr size_t most_passes = 64;

using Tallies = std::vector<const wire::Tally*>;

const wire::Count* find_count(const wire::Tally& tally, const std::string& name) {
  const auto found = std::find_if(tally.counts.begin(), tally.counts.end(),
                                  [&](const wire::Count& c) { return c.name == name; });
  return found == tally.counts.end() ? nullptr : &*found;
}

// What a trainer has counted since `before`, which is not there at the beginning of a pass. Nothing
// where the two do not belong together.
std::optional<wire::Tally> since(const wire::Tally& now, const wire::Tally* before) {
  wire::Tally out = now;
  std::erase_if(out.counts, [](const wire::Count& c) {  // the last batches are no period
    return c.kind == wire::CountKind::window;
  });
  if (before == nullptr) return out;
  if (before->first_batch != now.first_batch || before->samples > now.samples) return std::nullopt;
  out.samples -= before->samples;
  out.cost -= before->cost;
  for (wire::Count& c : out.counts) {
    const wire::Count* b = find_count(*before, c.name);
    if (b == nullptr || b->kind != c.kind) return std::nullopt;
    c.over -= b->over;
    c.under -= b->under;
    if (!subtract(b->bins, c.bins)) return std::nullopt;
  }
  return out;
}

wire::Sums sums_of(const Tallies& tallies) {
  wire::Sums out;
  for (const wire::Tally* t : tallies) {
    out.samples += t->samples;
    out.cost += t->cost;
  }
  if (out.samples > 0) out.cost /= static_cast<double>(out.samples);
  for (const wire::Count& first : tallies.front()->counts) {
    double over = 0, under = 0;
    Histogram bins;
    bool all = true;
    for (const wire::Tally* t : tallies) {
      const wire::Count* c = find_count(*t, first.name);
      all = all && c != nullptr && c->kind == first.kind;
      if (!all) break;
      over += c->over;
      under += c->under;
      add(c->bins, bins);
    }
    if (!all) continue;
    const bool ratio = first.kind == wire::CountKind::ratio;
    out.evaluators.push_back({first.name, !ratio ? roc_area(bins) : under != 0 ? over / under : 0});
  }
  return out;
}

}  // namespace

std::vector<wire::Totals> JobTotals::take(uint32_t trainer, wire::Tally tally, uint32_t trainers,
                                          const Needed& needed) {
  std::vector<wire::Totals> out;
  if (trainer >= trainers) return out;
  if (!passes_.empty() && tally.pass < passes_.begin()->first) return out;  // of the past
  const uint64_t number = tally.pass;
  Pass& pass = passes_[number];
  if (passes_.size() > most_passes) passes_.erase(passes_.begin());
  if (passes_.count(number) == 0) return out;
  pass.shares.resize(trainers);
  Share& share = pass.shares[trainer];
  if (tally.pass_ended) {
    // A trainer that was started again at the end of a pass knows less of it.
    if (pass.reported && tally.first_batch > 0) return out;
    pass.reported = pass.reported && share.ended && share.ended->samples == tally.samples;
    share.ended = std::move(tally);
  } else if (tally.batch > pass.batch) {
    share.periods[tally.batch] = std::move(tally);
    if (share.periods.size() > most_periods) share.periods.erase(share.periods.begin());
  }
  complete(number, pass, needed, out);
  return out;
}

std::vector<wire::Totals> JobTotals::members_changed(uint32_t trainers, const Needed& needed) {
  std::vector<wire::Totals> out;
  for (auto it = passes_.begin(); it != passes_.end();) {
    const uint64_t number = (it++)->first;
    const auto pass = passes_.find(number);  // complete() may remove those before
    if (pass == passes_.end()) continue;
    pass->second.shares.resize(trainers);
    complete(number, pass->second, needed, out);
  }
  return out;
}

void JobTotals::complete(uint64_t number, Pass& pass, const Needed& needed,
                         std::vector<wire::Totals>& out) {
  std::set<uint64_t> batches;
  for (const Share& s : pass.shares)
    for (const auto& [batch, tally] : s.periods) batches.insert(batch);
  const auto shares_if_all = [&](const auto& of) -> std::optional<Shares> {
    Shares shares;
    bool any = false;
    for (uint32_t i = 0; i < pass.shares.size(); ++i) {
      shares.push_back(of(pass.shares[i]));
      any = any || shares.back() != nullptr;
      if (shares.back() == nullptr && needed(i)) return std::nullopt;
    }
    return any ? std::optional(shares) : std::nullopt;
  };
  for (const uint64_t batch : batches) {
    const auto shares = shares_if_all([&](const Share& s) -> const wire::Tally* {
      if (const auto found = s.periods.find(batch); found != s.periods.end()) return &found->second;
      return s.ended && s.ended->batch <= batch ? &*s.ended : nullptr;
    });
    if (!shares) continue;
    out.push_back(total(number, pass, *shares));
    out.back().batch = pass.batch = batch;
    for (Share& s : pass.shares) s.periods.erase(s.periods.begin(), s.periods.upper_bound(batch));
  }
  if (pass.reported) return;
  const auto shares = shares_if_all([](const Share& s) { return s.ended ? &*s.ended : nullptr; });
  if (!shares) return;
  out.push_back(total(number, pass, *shares));
  out.back().pass_ended = pass.reported = true;
  for (const wire::Tally* t : *shares)
    if (t != nullptr) out.back().batch = std::max(out.back().batch, t->batch);
  pass.batch = out.back().batch;
  passes_.erase(passes_.begin(), passes_.find(number));
}

wire::Totals JobTotals::total(uint64_t number, Pass& pass, const Shares& shares) {
  wire::Totals out{.pass = number, .first_batch = pass.batch};
  Tallies all, parts;
  std::vector<wire::Tally> differences;
  differences.reserve(shares.size());
  bool known = true;
  for (size_t i = 0; i < shares.size(); ++i) {
    if (shares[i] == nullptr) continue;
    const auto& before = pass.shares[i].counted;
    auto difference = since(*shares[i], before ? &*before : nullptr);
    known =
        known && difference && (before || shares[i]->first_batch >= pass.batch || pass.batch == 0);
    all.push_back(shares[i]);
    if (known) parts.push_back(&differences.emplace_back(std::move(*difference)));
  }
  out.trainers = static_cast<uint32_t>(all.size());
  out.whole = sums_of(all);
  if (known) out.period = sums_of(parts);
  for (size_t i = 0; i < shares.size(); ++i)
    if (shares[i] != nullptr) pass.shares[i].counted = *shares[i];
  return out;
}

}  // namespace paddle
