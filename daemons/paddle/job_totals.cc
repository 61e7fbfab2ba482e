#include "paddle/job_totals.h"

#include <algorithm>

#include "base/error.h"
#include "base/suggest.h"
#include "trainer/meter.h"

namespace paddle {
namespace {

constexpr int64_t most_bins = int64_t{1} << 24;

// The value over all trainers; nothing where a part is missing. `tallies` has the events of each
// trainer.
std::optional<double> tallied(const std::vector<const std::vector<event::Tally>*>& tallies) {
  double over = 0, under = 0;
  Histogram counts;
  for (const std::vector<event::Tally>* of_one : tallies) {
    if (of_one == nullptr || of_one->empty()) return std::nullopt;
    const event::Tally& first = of_one->front();
    if (static_cast<int64_t>(of_one->size()) != first.parts || first.bins < 0 ||
        first.bins > most_bins)
      return std::nullopt;
    if (counts.positive.empty()) {
      counts.positive.resize(static_cast<size_t>(first.bins));
      counts.negative.resize(static_cast<size_t>(first.bins));
    }
    if (static_cast<int64_t>(counts.positive.size()) != first.bins) return std::nullopt;
    over += first.over;
    under += first.under;
    for (const event::Tally& part : *of_one)
      if (!add_histogram_text(part.counts, counts)) return std::nullopt;
  }
  if (counts.positive.empty()) return under != 0 ? over / under : 0;
  return roc_area(counts);
}

}  // namespace

std::string total_text(const PassTotal& total) {
  std::string out = text("pass ", total.pass + 1, " of all trainers: ", total.samples,
                         " samples, cost ", number_text(total.cost));
  for (const auto& [name, value] : total.evaluators)
    out += text(", ", name, " ", number_text(value));
  if (!total.unknown.empty())
    out += text(" (", listed(total.unknown), " not known: some events were lost)");
  return out;
}

std::optional<PassTotal> JobTotals::take(size_t index, const event::Any& event) {
  const auto* tally = std::get_if<event::Tally>(&event);
  const auto* ended = std::get_if<event::PassEnded>(&event);
  if (index >= trainers_ || (tally == nullptr && ended == nullptr)) return std::nullopt;
  std::vector<Share>& shares = passes_[tally ? tally->pass : ended->pass];
  shares.resize(trainers_);
  Share& own = shares[index];
  if (tally != nullptr) {
    if (own.ended) own = {};  // the pass was done again
    std::vector<event::Tally>& parts = own.tallies[tally->evaluator];
    if (tally->part == 0) parts.clear();
    parts.push_back(*tally);
    return std::nullopt;
  }
  own.ended = *ended;
  if (!std::all_of(shares.begin(), shares.end(),
                   [](const Share& s) { return s.ended.has_value(); }))
    return std::nullopt;
  return total(shares);
}

PassTotal JobTotals::total(const std::vector<Share>& shares) const {
  const event::PassEnded& first = *shares[0].ended;
  PassTotal out{.pass = first.pass};
  for (const Share& s : shares) {
    out.samples += s.ended->samples;
    out.cost += s.ended->cost * static_cast<double>(s.ended->samples);
  }
  const double n = static_cast<double>(std::max<int64_t>(out.samples, 1));
  out.cost /= n;
  for (size_t e = 0; e < first.evaluators.size(); ++e) {
    const std::string& name = first.evaluators[e].first;
    std::vector<const std::vector<event::Tally>*> tallies;
    double mean = 0;
    bool any = false, all = true;
    for (const Share& s : shares) {
      const auto found = s.tallies.find(name);
      tallies.push_back(found == s.tallies.end() ? nullptr : &found->second);
      any = any || tallies.back() != nullptr;
      if (e < s.ended->evaluators.size())
        mean += s.ended->evaluators[e].second * static_cast<double>(s.ended->samples) / n;
      else
        all = false;
    }
    const std::optional<double> value = any   ? tallied(tallies)
                                        : all ? std::optional(mean)
                                              : std::nullopt;
    if (value)
      out.evaluators.emplace_back(name, *value);
    else
      out.unknown.push_back(name);
  }
  return out;
}

}  // namespace paddle
