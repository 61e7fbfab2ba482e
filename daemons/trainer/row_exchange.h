// How a trainer and the shards exchange rows of sparse tables: pulls of a batch's distinct ids,
// one request per part of the table, and pushes of their gradients, one per part and step, also
// where a part has no ids, so that rounds close. A state machine without I/O, as exchange.h is;
// what is pulled, and when, is in row_requests.h. Between two steps of the same size nothing is
// allocated.
//
// Where steps are repeated (sync, half-async), a push is made again by computing the step again. In
// async pushes wait in a queue until they are answered, and are sent again after a break. In geo
// (geo_rows.h) differences are pushed so, one exchange at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/transpile.h"
#include "trainer/exchange.h"
#include "trainer/row_requests.h"

namespace paddle {

// A push of a part.
struct RowsSending {
  std::vector<std::byte> bulk;
  StepRange range;
  uint32_t rows = 0;
  uint64_t based_on = 0;
};
// A part of a table, as its trainer knows it.
struct RowsPart {
  uint32_t id = 0, shard = 0;
  int32_t table = 0;
  uint64_t version = 0;           // that it has at least
  bool asked = false;             // for its version, by join()
  std::vector<RowsSending> ring;  // pushes that were not answered, the oldest first
  size_t oldest = 0, unanswered = 0;
  struct {
    uint64_t handed = 0;    // async, geo: that are in the ring or were answered
    uint64_t pushed = 0;    // that the shard was sent
    uint64_t answered = 0;  // that the shard has acknowledged
  } steps;                  // of this trainer
  struct Range {
    uint64_t begin = 0, end = 0;
  };
  std::vector<Range> lost;  // steps of this trainer that are not in the part; they do not touch
  RowsSending& sending(size_t i) { return ring[(oldest + i) % ring.size()]; }
};

class RowExchange {
 public:
  // `cut` and `out` outlive it.
  RowExchange(const Cut& cut, wire::Mode mode, uint64_t queue_size, ShardSender& out,
              const RowCacheOptions& cache = {});

  // Whether an id is that of a part.
  bool owns(uint32_t id) const { return id >= first_ && id < first_ + parts_.size(); }

  // ---- a step of the trainer
  void begin_step(const StepRange& range);
  // The rows that it reads.
  RowRequests& requests() { return requests_; }
  const RowRequests& requests() const { return requests_; }
  // Every gradient of the step was pushed: what was announced for the next one may be asked for.
  void end_step();
  // Whether gradients of this step, of any parameter, may be pushed: in sync once all parts have
  // the version of this step, as for slices (exchange_rounds.h).
  bool may_push() const;
  void push(int32_t table, std::span<const uint64_t> ids, const float* grads);
  // Everything that was pushed is answered, and the version of `step` is there.
  bool settled(uint64_t step) const;

  // ---- joining: as ParamExchange
  void join(uint64_t epoch, uint64_t step, std::span<const wire::SliceState> states);
  bool joined() const;  // what join() asked for is here
  // `step` is where it joins the shard: behind all that the shard was sent.
  void joining(size_t shard, uint64_t step, std::span<const wire::SliceState> there);
  void goes_on(uint64_t step);
  uint64_t pushed(size_t shard) const;  // or in the queue, which goes as well
  // By part: steps whose gradient is not in it.
  std::span<const uint64_t> lost() const { return lost_; }

  // ---- what arrives
  // `id` is that of the message: 0, or the number of a pull (RowRequests).
  std::span<const std::span<std::byte>> landing(uint32_t shard, uint64_t id,
                                                const wire::Values& values, uint64_t bytes);
  void arrived(uint32_t shard, uint64_t id, const wire::Values& values);
  uint64_t dropped() const { return dropped_; }

  // What is waited for: the table, and the shard with the part.
  struct Awaited {
    std::string table;
    size_t shard = 0;
  };
  std::optional<Awaited> first_awaited() const;
  Awaited part_text(size_t part) const;

 private:
  using Part = RowsPart;
  using Sending = RowsSending;
  std::span<Part> parts_of(int32_t table) {
    return std::span(parts_).subspan(static_cast<size_t>(table) * per_table_, per_table_);
  }
  Part& part_of(uint32_t shard, uint32_t id);
  void send(Part& part, const Sending& what);

  const Cut& cut_;
  ShardSender& out_;
  const wire::Mode mode_;
  const uint32_t first_;    // id of the first part
  const size_t per_table_;  // parts
  std::vector<Part> parts_;
  RowRequests requests_;
  uint64_t epoch_ = 0, dropped_ = 0;
  StepRange range_;
  bool pushed_ = false;  // in this step
  bool joined_once_ = false;
  std::vector<uint64_t> lost_;
  std::vector<std::span<std::byte>> landing_;  // of each shard
};

}  // namespace paddle
