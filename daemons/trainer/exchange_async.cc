#include "trainer/exchange_async.h"

#include <algorithm>
#include <numeric>

#include "obs/exchange_times.h"

namespace paddle {

AsyncExchange::AsyncExchange(const SliceLayout& layout, const ExchangeOptions& options,
                             ShardSender& out)
    : ParamExchange(layout, out, Manner::streams,
                    {.repeat_steps = false, .steps_per_push = options.queue_size}),
      queue_size_(options.queue_size),
      merge_mean_(options.merge_mean),
      buffers_(layout.groups.size()),
      handed_(layout.slices.size()) {
  divide_memory(options.merge_memory);
}

void AsyncExchange::divide_memory(uint64_t memory) {
  const std::vector<SliceLayout::Group>& groups = layout_.groups;
  std::vector<uint32_t> order(groups.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return groups[a].bytes < groups[b].bytes; });
  for (const uint32_t g : order) {
    Buffers& b = buffers_[g];
    b.merges = groups[g].bytes <= memory;
    b.in_place = !b.merges && groups[g].slices.size() == 1;
    memory = b.merges ? memory - groups[g].bytes : 0;
  }
}

// A step that broke is computed again: what was pushed of it is not pushed once more.
void AsyncExchange::begin_step(const StepRange& range) {
  ParamExchange::begin_step(range);
  for (Buffers& b : buffers_)
    if (b.step != range.step) b.made = 0;
}

bool AsyncExchange::has_place(int32_t param) const {
  for (uint32_t id = layout_.first_of(param); id < layout_.last_of(param); ++id) {
    const Buffers& b = buffers_[layout_.slices[id].group];
    if (!b.merges && b.on_its_way) return false;
  }
  return true;
}

Remote::ReadUntil AsyncExchange::read_until(int32_t param) const {
  for (uint32_t id = layout_.first_of(param); id < layout_.last_of(param); ++id)
    if (buffers_[layout_.slices[id].group].in_place) return Remote::ReadUntil::answered;
  return Remote::ReadUntil::pushed;
}

// The first gradient of a step goes into the place that has room: `sending` where nothing is on its
// way, else `waiting`, where it is added to those of the steps before.
void AsyncExchange::collect(Buffers& b, const SliceLayout::Slice& slice, const float* grad) {
  const SliceLayout::Group& group = layout_.groups[slice.group];
  std::vector<float>& to = b.into_sending ? b.sending : b.waiting;
  if (to.empty()) to.resize(group.bytes / sizeof(float));
  float* at = to.data() + slice.group_begin / sizeof(float);
  const size_t n = slice.bytes / sizeof(float);
  if (b.merged == 0) {
    std::copy_n(grad, n, at);
  } else {
    for (size_t k = 0; k < n; ++k) at[k] += grad[k];
  }
}

void AsyncExchange::push(int32_t param, const std::byte* grad) {
  for (uint32_t id = layout_.first_of(param); id < layout_.last_of(param); ++id) {
    if (range_.step < handed_[id]) continue;
    handed_[id] = range_.step + 1;
    const SliceLayout::Slice& slice = layout_.slices[id];
    Buffers& b = buffers_[slice.group];
    if (b.made == 0) {
      b.into_sending = !b.on_its_way && b.merged == 0;
      b.step = range_.step;
    }
    if (!b.in_place) collect(b, slice, reinterpret_cast<const float*>(grad + slice.begin));
    if (b.merged == 0) states_[id].based_on = states_[id].version;
    if (++b.made < layout_.groups[slice.group].slices.size()) continue;
    b.made = 0;
    b.last = range_;
    if (b.into_sending) {
      b.bulk = b.in_place ? wire::Bytes(grad + slice.begin, slice.bytes)
                          : std::as_bytes(std::span(b.sending));
      send(slice.group);
      continue;
    }
    if (++b.merged == 1) ++waiting_;
    ++exchange_times().queued;
    if (b.merged == queue_size_) ++full_;
    if (!b.on_its_way) send_waiting(slice.group);
  }
}

void AsyncExchange::send(uint32_t group) {
  Buffers& b = buffers_[group];
  b.sent = b.last;
  b.on_its_way = true;
  send_push(group, b.sent, layout_.groups[group].slices, {&b.bulk, 1});
}

void AsyncExchange::send_waiting(uint32_t group) {
  Buffers& b = buffers_[group];
  b.sending.swap(b.waiting);
  if (merge_mean_ && b.merged > 1)
    for (float& g : b.sending) g /= static_cast<float>(b.merged);
  if (b.merged >= queue_size_) --full_;
  --waiting_;
  exchange_times().queued -= static_cast<int64_t>(b.merged);
  b.merged = 0;
  b.bulk = std::as_bytes(std::span(b.sending));
  send(group);
}

// Gradients of a step that are only partly there wait for the rest.
void AsyncExchange::group_arrived(uint32_t group) {
  Buffers& b = buffers_[group];
  b.on_its_way = false;
  if (b.merged > 0 && b.made == 0) send_waiting(group);
}

wire::Bytes AsyncExchange::sent(uint32_t id, StepRange& range) const {
  const SliceLayout::Slice& slice = layout_.slices[id];
  const Buffers& b = buffers_[slice.group];
  if (b.bulk.empty()) return {};
  range = b.sent;
  return b.bulk.subspan(slice.group_begin, slice.bytes);
}

}  // namespace paddle
