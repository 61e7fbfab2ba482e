#include "trainer/exchange.h"

#include <algorithm>

#include "base/error.h"
#include "trainer/exchange_async.h"
#include "trainer/exchange_geo.h"
#include "trainer/exchange_rounds.h"

namespace paddle {

ParamExchange::ParamExchange(const SliceLayout& layout, ShardSender& out, Manner manner,
                             const UpdateKind& kind)
    : layout_(layout),
      states_(layout.slices.size()),
      out_(out),
      manner_(manner),
      updates_(layout, kind),
      group_awaited_(layout.groups.size()),
      landings_(layout.shards) {
  size_t most = 0;
  for (const SliceLayout::Group& g : layout.groups) most = std::max(most, g.slices.size());
  push_parts_.reserve(most);
  pull_parts_.reserve(most);
}

void ParamExchange::locate(std::span<std::byte* const> params) {
  for (size_t i = 0; i < states_.size(); ++i)
    states_[i].value =
        params[static_cast<size_t>(layout_.slices[i].param)] + layout_.slices[i].begin;
}

std::optional<uint32_t> ParamExchange::first_awaited() const {
  const auto found =
      std::find_if(states_.begin(), states_.end(), [](const State& s) { return s.awaited; });
  if (found == states_.end()) return {};
  return static_cast<uint32_t>(found - states_.begin());
}

// ---- what is sent

void ParamExchange::send_push(uint32_t group, const StepRange& range, std::span<const uint32_t> ids,
                              std::span<const wire::Bytes> bulk) {
  push_parts_.clear();
  for (const uint32_t id : ids) {
    State& s = states_[id];
    push_parts_.push_back({.based_on = std::min(s.based_on, s.version), .slice = id});
    awaited_ += !s.awaited;
    group_awaited_[group] += !s.awaited;
    s.awaited = s.unanswered = true;
    updates_.pushed(id, range.step);
  }
  out_.send(layout_.groups[group].shard,
            wire::Push{.step = range.step,
                       .epoch = epoch_,
                       .begin = range.begin,
                       .end = range.end,
                       .pull = true,
                       .parts = push_parts_},
            bulk);
}

void ParamExchange::send_pull(uint32_t group, std::span<const uint32_t> ids, uint64_t version) {
  pull_parts_.clear();
  for (const uint32_t id : ids) {
    State& s = states_[id];
    pull_parts_.push_back({.version = version, .slice = id});
    awaited_ += !s.awaited;
    group_awaited_[group] += !s.awaited;
    s.awaited = true;
  }
  out_.send(layout_.groups[group].shard, wire::Pull{.epoch = epoch_, .parts = pull_parts_});
}

void ParamExchange::pull_all() {
  for (uint32_t g = 0; g < layout_.groups.size(); ++g) send_pull(g, layout_.groups[g].slices, 0);
}

// A shard may be another process with older values by now.
void ParamExchange::join(uint64_t epoch, uint64_t step, std::span<const wire::SliceState> states) {
  epoch_ = epoch;
  range_.step = step;
  awaited_ = 0;
  std::fill(group_awaited_.begin(), group_awaited_.end(), 0);
  for (State& s : states_) s.awaited = false;
  const uint64_t version = rejoin(step);
  updates_.joined(step, states);
  std::vector<uint32_t> lacking, present;
  std::vector<wire::Bytes> bulk;
  for (uint32_t g = 0; g < layout_.groups.size(); ++g) {
    lacking.clear();
    present.clear();
    bulk.clear();
    StepRange range;
    for (const uint32_t id : layout_.groups[g].slices) {
      State& s = states_[id];
      const wire::Bytes kept = s.unanswered ? sent(id, range) : wire::Bytes{};
      if (!kept.empty() && states[id].last_step <= range.step) {
        s.version = std::min(s.version, states[id].version);
        lacking.push_back(id);
        bulk.push_back(kept);
      } else {
        s.unanswered = false;
        s.version = 0;
        present.push_back(id);
      }
    }
    if (!lacking.empty()) send_push(g, range, lacking, bulk);
    if (!present.empty()) send_pull(g, present, version);
  }
}

// ---- what arrives

std::span<const std::span<std::byte>> ParamExchange::landing(uint32_t shard,
                                                             const wire::Values& values,
                                                             uint64_t bytes) {
  std::vector<std::span<std::byte>>& to = landings_[shard];
  to.clear();
  uint64_t sum = 0;
  for (const wire::ValuesPart& part : values.parts) {
    require(part.slice < states_.size() && states_[part.slice].awaited &&
                layout_.slices[part.slice].shard == shard,
            Error::Kind::protocol, "it sent values of slice ", part.slice,
            " that nobody asked for");
    to.emplace_back(target(part.slice), layout_.slices[part.slice].bytes);
    sum += to.back().size();
  }
  require(sum == bytes, Error::Kind::protocol, "it sent ", bytes, " bytes for ",
          values.parts.size() == 1 ? "'" + layout_.names[values.parts[0].slice] + "', which has "
                                   : std::to_string(values.parts.size()) + " slices, which have ",
          sum);
  return to;
}

void ParamExchange::arrived(uint32_t shard, const wire::Values& values) {
  for (const wire::ValuesPart& part : values.parts) {
    require(part.slice < states_.size() && states_[part.slice].awaited &&
                layout_.slices[part.slice].shard == shard,
            Error::Kind::protocol, "it sent values of slice ", part.slice,
            " that nobody asked for");
    State& s = states_[part.slice];
    updates_.arrived(part, s.unanswered);
    s.awaited = s.unanswered = false;
    s.version = part.version;
    --awaited_;
    const uint32_t group = layout_.slices[part.slice].group;
    if (--group_awaited_[group] == 0) group_arrived(group);
  }
}

std::unique_ptr<ParamExchange> make_exchange(const SliceLayout& layout,
                                             const ExchangeOptions& options, ShardSender& out) {
  switch (options.mode) {
    case wire::Mode::async: return std::make_unique<AsyncExchange>(layout, options, out);
    case wire::Mode::geo: return std::make_unique<GeoExchange>(layout, options, out);
    case wire::Mode::sync:
    case wire::Mode::half_async: break;
  }
  return std::make_unique<RoundExchange>(layout, options.mode == wire::Mode::sync, out);
}

}  // namespace paddle
