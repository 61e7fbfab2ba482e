// Which rows of sparse tables a trainer asks the shards for, and when: those of the step at hand,
// one request per part of the table, and early those of the next batch, where its ids are known.
// A state machine without I/O; row_exchange.h calls it for each step, joining and answer.
//
// Early requests. In sync they go out behind the gradients of the step before, and the shards
// answer when the round closes; in half-async too, so that the rows have this trainer's own
// gradients. In async they go out at once, and the rows come while that step is computed: they may
// lack its gradients. Rows that were announced and that their step does not ask for are dropped
// when they come.
//
// With a cache (row_cache.h) shards are asked for what it does not have. In async announced rows
// are then asked for once those of the present step are here, and in the cache.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "graph/transpile.h"
#include "trainer/exchange.h"

namespace paddle {

// How many bytes the values of a row take in a message.
inline size_t value_bytes(const TableSpec& t) {
  return static_cast<size_t>(t.width) * (t.bf16_wire ? 2 : 4);
}

class RowRequests {
 public:
  // Pulls of one table at a time. Their messages have the numbers from 1 on.
  static constexpr size_t pulls_at_once = 3;

  // What is asked of one part.
  struct PartPull {
    std::vector<uint64_t> ids;    // the `asked` first are the shard's, the others were cached
    std::vector<uint32_t> place;  // of each id in the list of the whole table
    std::vector<std::byte> rows;  // that came for the ids
    size_t asked = 0;
    uint64_t version = ~uint64_t{0};  // of the rows, where they have come
    uint64_t own = 0;                 // steps of this trainer that were answered by then
    // Of the cached rows: the lowest version less the steps of this trainer in it.
    int64_t cached_base = std::numeric_limits<int64_t>::max();
    bool pulling = false, landing = false;
    bool any_cached() const { return asked < ids.size(); }
  };
  struct Pull {
    std::vector<uint64_t> ids;
    std::vector<PartPull> parts;
    uint64_t step = 0;      // for which it was announced
    uint64_t asked_at = 0;  // the step in which it was sent
    bool expected = false;  // that step may still ask for it
    bool sent = false;
    bool pulling() const;
  };

  // `cut` and `out` outlive it. Parts have the ids from `first_part` on, table after table.
  RowRequests(const Cut& cut, wire::Mode mode, uint32_t first_part, ShardSender& out,
              const RowCacheOptions& cache = {});

  // Requests that were not answered are void, and so is what is cached: shards may have gone back.
  // Outside a step, in tests of the model, the cache is neither read nor filled.
  void join(uint64_t epoch);
  void begin_step(uint64_t step);
  // Outside a step: requests ask for the rows of this version, or of any (wire::any_version).
  void read_at(uint64_t version);
  // The distinct ids that `step`, the one after the present step, will ask for. Nothing happens
  // where all pulls for announced ids are in use.
  void announce(int32_t table, std::span<const uint64_t> ids, uint64_t step);
  // All gradients of the step were pushed.
  void send_announced();
  // Asks for the rows of distinct ids, where they were not announced for this step; then, once they
  // are here, for each id its row in `rows`.
  void request(int32_t table, std::span<const uint64_t> ids);
  bool pulled(int32_t table) const { return !at_hand(table).pulling(); }
  void take(int32_t table, float* rows);
  // How these ids are divided among the parts: as they were asked for, or else anew.
  const Pull& divided(int32_t table, std::span<const uint64_t> ids);

  // ---- answers: of the part of a table, to the message of this number
  // Where the rows go. Throws Error(protocol) for rows that were not requested.
  std::span<std::byte> landing(int32_t table, size_t part, uint64_t number, uint64_t bytes);
  void arrived(int32_t table, size_t part, uint64_t number, uint64_t version, uint64_t own);

  bool pulling(int32_t table, size_t part) const { return at_hand(table).parts[part].pulling; }
  // How many calls of request() found that their pull had been sent before the step.
  uint64_t ahead() const { return ahead_; }

 private:
  struct Table {
    const TableSpec* spec = nullptr;
    uint32_t first_part = 0;
    std::optional<RowCache> cache;
    size_t at_hand = 0;  // the pull that was requested last
    // Pull 0 is for ids that were not announced, the others are announced ones.
    std::array<Pull, pulls_at_once> pulls;
  };
  const Pull& at_hand(int32_t table) const {
    const Table& t = tables_[static_cast<size_t>(table)];
    return t.pulls[t.at_hand];
  }
  size_t take_announced(Table& table, std::span<const uint64_t> ids);
  void divide(Pull& pull, RowCache* cache, uint64_t step);
  void take_cached(const Table& table, Pull& pull);
  void keep(Table& table);
  void ask(Table& table, size_t pull, uint64_t step);
  void send(Table& table, size_t pull, uint64_t version);
  void send_announced(Table& table);

  const Cut& cut_;
  const wire::Mode mode_;
  ShardSender& out_;
  std::vector<Table> tables_;
  uint64_t epoch_ = 0, step_ = 0, ahead_ = 0;
  uint64_t read_version_ = 0;  // of read_at(); sync
  bool in_step_ = false;
  struct Hit {
    uint32_t part, place;
    size_t index = 0;  // among the ids of the part
    RowCache::Found found;
  };
  std::vector<Hit> hits_;  // of the list that is divided
};

}  // namespace paddle
