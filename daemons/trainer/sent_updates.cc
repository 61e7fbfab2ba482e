#include "trainer/sent_updates.h"

#include <algorithm>
#include <optional>

namespace paddle {

SentUpdates::SentUpdates(const SliceLayout& layout, const UpdateKind& kind)
    : layout_(layout), kind_(kind), slices_(layout.slices.size()), lost_(layout.slices.size()) {}

void SentUpdates::pushed(uint32_t slice, uint64_t step) {
  slices_[slice].pushed = std::max(slices_[slice].pushed, step + 1);
  slices_[slice].origins.pushed(step + 1);
}

void SentUpdates::arrived(const wire::ValuesPart& values, bool answers) {
  Slice& s = slices_[values.slice];
  if (answers && s.pushed > s.answered) {
    measure_push(s, s.pushed);
    s.answered = s.pushed;
  }
  s.arrived = values.version;
  s.origins.arrived(values.version);
  s.included = std::max(s.included, s.answered);
  dropped_ += values.dropped;
}

void SentUpdates::measure_push(const Slice& s, uint64_t steps) {
  const uint64_t before = std::max(s.answered, s.included);
  if (steps > before) largest_push_ = std::max(largest_push_, steps - before);
}

uint64_t SentUpdates::may_hold(size_t shard, const ShardValues& values) const {
  uint64_t most = 0;
  for (size_t i = 0; i < slices_.size(); ++i)
    if (layout_.slices[i].shard == shard)
      most = std::max(most, slices_[i].origins.find(values, slices_[i].included).steps);
  return most;
}

std::vector<wire::Origin> SentUpdates::origins(size_t shard) const {
  std::optional<std::vector<wire::Origin>> out;
  for (size_t i = 0; i < slices_.size(); ++i) {
    if (layout_.slices[i].shard != shard) continue;
    const std::vector<wire::Origin> of_slice = slices_[i].origins.of_values();
    out = out ? common_origins(*out, of_slice) : of_slice;
  }
  return out.value_or(std::vector<wire::Origin>{});
}

void SentUpdates::joining(size_t shard, uint64_t step, std::span<const wire::SliceState> there,
                          const ShardValues& values) {
  for (uint32_t id = 0; id < slices_.size(); ++id) {
    if (layout_.slices[id].shard != shard) continue;
    Slice& s = slices_[id];
    if (const uint64_t last = there[id].last_step; last != wire::unknown_steps) {
      const bool again = s.joined;
      const uint64_t unanswered = again && last > s.answered ? last - s.answered : 0;
      const uint64_t counted = count_known(id, step, last);
      const ValueOrigins::Own own{last, counted, true, unanswered, there[id].version};
      if (s.origins.join(values, own) && again) s.included = counted;
      continue;
    }
    const ValueOrigins::Found found = s.origins.find(values, s.included);
    strange_ = strange_ || found.strange;
    lose(id,
         found.later +
             std::min(found.versions * largest_push_ + found.unanswered, found.steps_there) +
             (step > s.included ? step - s.included : 0),
         step);
    s.arrived = std::min(s.arrived, values.base);
    s.answered = s.included = step;
    s.joined = true;
    s.origins.join(values, {.steps = step, .counted = step});
  }
}

// Of several lost pservers each may have lacked the same steps.
void SentUpdates::lose(uint32_t id, uint64_t steps, uint64_t behind) {
  Slice& s = slices_[id];
  s.made = std::max(s.made, behind);
  lost_[id] = std::min(lost_[id] + steps, s.made);
}

// A process that joins for the first time goes on behind what was pushed before it. Where steps are
// computed again, goes_on() counts those that are not.
uint64_t SentUpdates::count_known(uint32_t id, uint64_t step, uint64_t last) {
  Slice& s = slices_[id];
  const uint64_t had = !s.joined ? step : kind_.repeat_steps ? last : s.answered;
  if (!s.joined && last > 0) largest_push_ = std::max(largest_push_, kind_.steps_per_push);
  if (s.joined) measure_push(s, last);  // its answer was lost with a connection
  s.joined = true;
  s.answered = s.pushed = last;
  if (had > last) lose(id, had - last, had);
  return std::max(had, last);
}

void SentUpdates::joined(uint64_t step, std::span<const wire::SliceState> there) {
  for (uint32_t id = 0; kind_.get_lost && id < slices_.size(); ++id)
    if (const uint64_t last = there[id].last_step; last != wire::unknown_steps)
      count_known(id, step, last);
}

void SentUpdates::goes_on(uint64_t step) {
  if (!kind_.repeat_steps || !kind_.get_lost) return;
  for (uint32_t id = 0; id < slices_.size(); ++id) {
    Slice& s = slices_[id];
    if (step > s.answered) lose(id, step - s.answered, step);
    s.answered = std::max(s.answered, step);
  }
}

}  // namespace paddle
