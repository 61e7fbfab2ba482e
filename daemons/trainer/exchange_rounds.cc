#include "trainer/exchange_rounds.h"

#include <algorithm>
#include <cstring>

namespace paddle {

RoundExchange::RoundExchange(const SliceLayout& layout, bool sync, ShardSender& out)
    : ParamExchange(layout, out, Manner::repeats_steps, {.get_lost = !sync}),
      sync_(sync),
      made_(layout.groups.size()) {
  for (const SliceLayout::Group& g : layout.groups)
    buffers_.emplace_back(g.slices.size() > 1 ? g.bytes : 0);
}

void RoundExchange::begin_step(const StepRange& range) {
  ParamExchange::begin_step(range);
  pushed_ = false;
  std::fill(made_.begin(), made_.end(), 0);
}

bool RoundExchange::may_read(int32_t param) const {
  for (uint32_t id = layout_.first_of(param); id < layout_.last_of(param); ++id)
    if (states_[id].awaited || (sync_ && states_[id].version < range_.step)) return false;
  return true;
}

void RoundExchange::push(int32_t param, const std::byte* grad) {
  pushed_ = true;
  for (uint32_t id = layout_.first_of(param); id < layout_.last_of(param); ++id) {
    const SliceLayout::Slice& slice = layout_.slices[id];
    const SliceLayout::Group& group = layout_.groups[slice.group];
    std::vector<std::byte>& buffer = buffers_[slice.group];
    states_[id].based_on = states_[id].version;
    if (!buffer.empty())
      std::memcpy(buffer.data() + slice.group_begin, grad + slice.begin, slice.bytes);
    if (++made_[slice.group] < group.slices.size()) continue;
    const wire::Bytes bulk =
        buffer.empty() ? wire::Bytes(grad + slice.begin, slice.bytes) : wire::Bytes(buffer);
    send_push(slice.group, range_, group.slices, {&bulk, 1});
  }
}

bool RoundExchange::settled(uint64_t step) const {
  if (!none_awaited()) return false;
  return !sync_ || std::none_of(states_.begin(), states_.end(),
                                [&](const State& s) { return s.version < step; });
}

}  // namespace paddle
