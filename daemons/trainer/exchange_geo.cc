#include "trainer/exchange_geo.h"

#include <algorithm>

namespace paddle {

GeoExchange::GeoExchange(const SliceLayout& layout, const ExchangeOptions& options,
                         ShardSender& out)
    : ParamExchange(layout, out, Manner::sends_again,
                    {.repeat_steps = false, .steps_per_push = options.geo_steps}),
      trainers_(static_cast<float>(options.trainers)),
      steps_(options.geo_steps) {
  for (const SliceLayout::Group& g : layout.groups) {
    const size_t n = g.bytes / sizeof(float);
    buffers_.push_back({.sending = std::vector<float>(n),
                        .incoming = std::vector<float>(n),
                        .old = std::vector<float>(n)});
  }
}

bool GeoExchange::end_step() {
  if ((range_.step + 1) % steps_ != 0) return false;
  exchange();
  return true;
}

// Afterwards the shards' values are the result.
bool GeoExchange::finish(const StepRange& end) {
  range_ = end;
  exchange();
  replaces_ = true;
  return true;
}

void GeoExchange::begin_step(const StepRange& range) {
  ParamExchange::begin_step(range);
  replaces_ = false;
}

void GeoExchange::exchange() {
  sent_ = range_;
  for (uint32_t g = 0; g < layout_.groups.size(); ++g) {
    Buffers& b = buffers_[g];
    for (const uint32_t id : layout_.groups[g].slices) {
      const SliceLayout::Slice& slice = layout_.slices[id];
      const auto* now = reinterpret_cast<const float*>(states_[id].value);
      const size_t at = slice.group_begin / sizeof(float), n = slice.bytes / sizeof(float);
      for (size_t k = 0; k < n; ++k) {
        b.sending[at + k] = (now[k] - b.old[at + k]) / trainers_;
        b.old[at + k] += b.sending[at + k];
      }
      states_[id].based_on = states_[id].version;
    }
    const wire::Bytes bulk = std::as_bytes(std::span(b.sending));
    send_push(g, sent_, layout_.groups[g].slices, {&bulk, 1});
  }
}

// What was made here since the last exchange stays.
uint64_t GeoExchange::rejoin(uint64_t) { return 0; }

const std::byte* GeoExchange::shard_copy(uint32_t slice) const {
  const SliceLayout::Slice& s = layout_.slices[slice];
  return reinterpret_cast<const std::byte*>(buffers_[s.group].old.data()) + s.group_begin;
}

std::byte* GeoExchange::target(uint32_t id) {
  const SliceLayout::Slice& slice = layout_.slices[id];
  return reinterpret_cast<std::byte*>(buffers_[slice.group].incoming.data()) + slice.group_begin;
}

void GeoExchange::group_arrived(uint32_t group) {
  Buffers& b = buffers_[group];
  for (const uint32_t id : layout_.groups[group].slices) {
    const SliceLayout::Slice& slice = layout_.slices[id];
    auto* now = reinterpret_cast<float*>(states_[id].value);
    const size_t at = slice.group_begin / sizeof(float), n = slice.bytes / sizeof(float);
    if (replaces_) {
      std::copy_n(b.incoming.data() + at, n, now);
    } else {
      for (size_t k = 0; k < n; ++k) now[k] += b.incoming[at + k] - b.old[at + k];
    }
  }
  b.old = b.incoming;
}

wire::Bytes GeoExchange::sent(uint32_t id, StepRange& range) const {
  const SliceLayout::Slice& slice = layout_.slices[id];
  range = sent_;
  return std::as_bytes(std::span(buffers_[slice.group].sending))
      .subspan(slice.group_begin, slice.bytes);
}

}  // namespace paddle
