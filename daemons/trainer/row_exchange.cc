#include "trainer/row_exchange.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "table/bfloat.h"
#include "table/partition.h"

namespace paddle {
namespace {

constexpr uint64_t max_queue = 64;  // pushes of a part that are on their way

bool repeats_steps(wire::Mode mode) {
  return mode == wire::Mode::sync || mode == wire::Mode::half_async;
}

// The version that a gradient was computed with. What this trainer itself has changed since then
// does not make it older, as for parameters.
uint64_t based_on(const RowsPart& part, const RowRequests::PartPull& rows) {
  uint64_t version = part.version;
  if (rows.version <= part.version)
    version = std::min(version, rows.version + part.steps.answered - rows.own);
  if (rows.any_cached()) {
    const int64_t cached = rows.cached_base + static_cast<int64_t>(part.steps.answered);
    version = std::min(version, static_cast<uint64_t>(std::max<int64_t>(cached, 0)));
  }
  return version;
}

// The ids of a part, and their gradients from those of the whole list.
void fill(RowsSending& to, const RowRequests::PartPull& p, const TableSpec& spec,
          const float* grads) {
  const auto width = static_cast<size_t>(spec.width);
  to.rows = static_cast<uint32_t>(p.ids.size());
  to.bulk.resize(p.ids.size() * (sizeof(uint64_t) + value_bytes(spec)));
  std::byte* at = to.bulk.data();
  if (!p.ids.empty()) std::memcpy(at, p.ids.data(), p.ids.size() * sizeof(uint64_t));
  at += p.ids.size() * sizeof(uint64_t);
  for (const uint32_t place : p.place) {
    const float* from = grads + place * width;
    if (!spec.bf16_wire) {
      std::memcpy(at, from, width * sizeof(float));
    } else {
      for (size_t j = 0; j < width; ++j) {
        const uint16_t half = to_bf16(from[j]);
        std::memcpy(at + 2 * j, &half, sizeof half);
      }
    }
    at += value_bytes(spec);
  }
}

// Of several lost pservers each may have lacked the same steps, which count once. Returns how many
// are lost now.
uint64_t lose(RowsPart& part, uint64_t begin, uint64_t end) {
  for (auto& ranges = part.lost; !ranges.empty() && ranges.back().end >= begin; ranges.pop_back()) {
    begin = std::min(begin, ranges.back().begin);
    end = std::max(end, ranges.back().end);
  }
  part.lost.push_back({begin, end});
  uint64_t lost = 0;
  for (const RowsPart::Range& r : part.lost) lost += r.end - r.begin;
  return lost;
}

}  // namespace

RowExchange::RowExchange(const Cut& cut, wire::Mode mode, uint64_t queue_size, ShardSender& out,
                         const RowCacheOptions& cache)
    : cut_(cut),
      out_(out),
      mode_(mode),
      first_(static_cast<uint32_t>(cut.slices.size())),
      per_table_(cut.trainer.tables.empty() ? 0 : cut.table_shards.size()),
      parts_(cut.trainer.tables.size() * per_table_),
      requests_(cut, mode, first_, out, cache),
      lost_(parts_.size()),
      landing_(cut.pservers.size()) {
  const size_t slots = mode != wire::Mode::async
                           ? 1
                           : static_cast<size_t>(std::clamp<uint64_t>(queue_size, 1, max_queue));
  for (size_t i = 0; i < parts_.size(); ++i) {
    parts_[i].id = first_ + static_cast<uint32_t>(i);
    parts_[i].table = static_cast<int32_t>(i / per_table_);
    parts_[i].shard = static_cast<uint32_t>(cut.table_shards[i % per_table_]);
    parts_[i].ring.resize(slots);
  }
}

RowExchange::Awaited RowExchange::part_text(size_t part) const {
  const Part& p = parts_[part];
  return {cut_.trainer.tables[static_cast<size_t>(p.table)].param, p.shard};
}

std::optional<RowExchange::Awaited> RowExchange::first_awaited() const {
  for (size_t i = 0; i < parts_.size(); ++i)
    if (requests_.pulling(parts_[i].table, i % per_table_) || parts_[i].asked) return part_text(i);
  for (size_t i = 0; i < parts_.size(); ++i)
    if (parts_[i].unanswered > 0) return part_text(i);
  return {};
}

// ---- a step

void RowExchange::begin_step(const StepRange& range) {
  range_ = range;
  requests_.begin_step(range.step);
  pushed_ = false;
}

// In sync a shard takes requests for the version behind its present one, and this trainer knows
// that it has the one of this step once it may push (may_push()).
void RowExchange::end_step() {
  if (pushed_) requests_.send_announced();
}

bool RowExchange::may_push() const {
  if (repeats_steps(mode_)) return pushed_ || settled(range_.step);
  return std::none_of(parts_.begin(), parts_.end(),
                      [](const Part& p) { return p.unanswered == p.ring.size(); });
}

// A step that broke after its rows were handed over is computed again in async as well; its rows
// are in the queue, and are not sent as another step's. Differences of geo always go out: what they
// hold was in no push before.
void RowExchange::push(int32_t table, std::span<const uint64_t> ids, const float* grads) {
  const RowRequests::Pull& pull = requests_.divided(table, ids);
  pushed_ = true;
  for (Part& p : parts_of(table)) {
    if (range_.step < p.steps.handed && mode_ != wire::Mode::geo) continue;
    Sending& to = p.sending(p.unanswered);
    to.range = range_;
    to.range.step = std::max(range_.step, p.steps.handed);
    const auto part = static_cast<size_t>(p.id - first_) % per_table_;
    to.based_on = mode_ == wire::Mode::geo ? p.version : based_on(p, pull.parts[part]);
    fill(to, pull.parts[part], cut_.trainer.tables[static_cast<size_t>(table)], grads);
    if (!repeats_steps(mode_)) p.steps.handed = to.range.step + 1;
    p.steps.pushed = std::max(p.steps.pushed, to.range.step + 1);
    ++p.unanswered;
    send(p, to);
  }
}

void RowExchange::send(Part& p, const Sending& what) {
  const wire::PushPart part{.based_on = what.based_on, .slice = p.id, .rows = what.rows};
  const wire::Bytes bulk(what.bulk);
  out_.send(p.shard,
            wire::Push{.step = what.range.step,
                       .epoch = epoch_,
                       .begin = what.range.begin,
                       .end = what.range.end,
                       .pull = true,
                       .parts = {&part, 1}},
            std::span(&bulk, bulk.empty() ? 0 : 1));
}

bool RowExchange::settled(uint64_t step) const {
  return std::all_of(parts_.begin(), parts_.end(), [&](const Part& p) {
    return p.unanswered == 0 && !p.asked && (mode_ != wire::Mode::sync || p.version >= step);
  });
}

// ---- joining

void RowExchange::join(uint64_t epoch, uint64_t step, std::span<const wire::SliceState> states) {
  epoch_ = epoch;
  range_.step = step;
  requests_.join(epoch);
  requests_.read_at(step);
  pushed_ = false;
  for (Part& p : parts_) {
    const wire::SliceState& there = states[p.id];
    const auto index = static_cast<size_t>(&p - parts_.data());
    p.version = mode_ == wire::Mode::sync ? 0 : there.version;
    if (mode_ != wire::Mode::sync && there.last_step != wire::unknown_steps) {
      // A process that joins for the first time goes on behind what was pushed before it. Where
      // steps are computed again, goes_on() counts those that are not.
      const uint64_t had = !joined_once_          ? step
                           : repeats_steps(mode_) ? there.last_step
                                                  : p.steps.answered;
      p.steps.answered = p.steps.pushed = there.last_step;
      if (had > p.steps.answered) lost_[index] = lose(p, p.steps.answered, had);
    }
    if (repeats_steps(mode_)) {
      p.unanswered = 0;
    } else {
      for (; p.unanswered > 0 && p.sending(0).range.step < there.last_step; --p.unanswered)
        p.oldest = (p.oldest + 1) % p.ring.size();
      for (size_t i = 0; i < p.unanswered; ++i) {
        p.sending(i).based_on = std::min(p.sending(i).based_on, there.version);
        send(p, p.sending(i));
      }
    }
    p.asked = mode_ == wire::Mode::sync;
    const wire::PullPart version{.version = step, .slice = p.id};
    if (p.asked) out_.send(p.shard, wire::Pull{.epoch = epoch_, .parts = {&version, 1}});
  }
  joined_once_ = true;
}

bool RowExchange::joined() const {
  return std::none_of(parts_.begin(), parts_.end(), [](const Part& p) { return p.asked; });
}

// A shard that lost its state has rows that never had an update: all that this trainer pushed went
// with it, and what is on its way counts as gone. The shard takes nothing before `step`.
void RowExchange::joining(size_t shard, uint64_t step, std::span<const wire::SliceState> there) {
  for (Part& p : parts_) {
    if (p.shard != shard || there[p.id].last_step != wire::unknown_steps) continue;
    if (step > 0) lost_[static_cast<size_t>(&p - parts_.data())] = lose(p, 0, step);
    p.steps.answered = p.steps.pushed = p.steps.handed = step;
    p.unanswered = 0;
  }
}

void RowExchange::goes_on(uint64_t step) {
  if (mode_ != wire::Mode::half_async) return;
  for (Part& p : parts_) {
    if (step > p.steps.answered)
      lost_[static_cast<size_t>(&p - parts_.data())] = lose(p, p.steps.answered, step);
    p.steps.answered = std::max(p.steps.answered, step);
  }
}

uint64_t RowExchange::pushed(size_t shard) const {
  uint64_t most = 0;
  for (const Part& p : parts_)
    if (p.shard == shard) most = std::max({most, p.steps.pushed, p.steps.handed});
  return most;
}

// ---- what arrives

RowExchange::Part& RowExchange::part_of(uint32_t shard, uint32_t id) {
  require(owns(id) && parts_[id - first_].shard == shard, Error::Kind::protocol,
          "it sent something of part ", id, " of a table, which is not there");
  return parts_[id - first_];
}

// Only answers to pulls have bulk.
std::span<const std::span<std::byte>> RowExchange::landing(uint32_t shard, uint64_t id,
                                                           const wire::Values& values,
                                                           uint64_t bytes) {
  const Part& p = part_of(shard, values.parts[0].slice);
  require(values.parts.size() == 1, Error::Kind::protocol, "it sent rows of several parts at once");
  landing_[shard] = requests_.landing(p.table, (p.id - first_) % per_table_, id, bytes);
  return {&landing_[shard], 1};
}

void RowExchange::arrived(uint32_t shard, uint64_t id, const wire::Values& values) {
  for (const wire::ValuesPart& v : values.parts) {
    Part& p = part_of(shard, v.slice);
    p.version = std::max(p.version, v.version);
    if (id > 0) {
      requests_.arrived(p.table, (p.id - first_) % per_table_, id, v.version, p.steps.answered);
    } else if (p.asked) {
      p.asked = false;
    } else {
      require(p.unanswered > 0, Error::Kind::protocol, "it answered a push of '",
              cut_.trainer.tables[static_cast<size_t>(p.table)].param, "' that was not sent");
      p.steps.answered = std::max(p.steps.answered, p.sending(0).range.step + 1);
      p.oldest = (p.oldest + 1) % p.ring.size();
      --p.unanswered;
      dropped_ += v.dropped;
    }
  }
}

}  // namespace paddle
