// Rows of a sparse table that a trainer keeps for some steps, so that it does not ask a shard for
// the same rows in every step (async and half-async, --row_cache). A row may be used by the step
// that asked for it and by so many steps after it, whatever happens to it meanwhile: neither the
// updates of others nor those of this trainer are applied here. Rows that this trainer has updated
// stay, as every row of a batch is updated by it, so that a cache without them would be empty; to
// apply the update here takes the optimizer's state, which is on the shards. The bound on the
// number of steps is what limits both.
//
// All rows lie in one block of memory, in sets of eight; the id names the set. A new row replaces
// one that is too old, else one that was not used since the hand of its set went over it (CLOCK). A
// row that comes once does not displace those that are used again and again. Nothing is allocated
// after the constructor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "options/options.h"

namespace paddle {

struct RowCacheOptions {
  uint64_t bytes = 0;  // of all tables; 0: none
  uint64_t steps = 0;  // that may use a row behind the one that asked for it
};

// What --row_cache and --row_cache_steps say.
RowCacheOptions row_cache_options(const Options& options);

class RowCache {
 public:
  // A row as it came, and what it was read with.
  struct Found {
    const std::byte* row = nullptr;  // null: not here; valid until the next put()
    int64_t base = 0;                // as it was given to put()
  };

  // Takes no more than `bytes`; where that is too little for eight rows, it keeps none. `row_bytes`
  // are those of a row.
  RowCache(uint64_t bytes, size_t row_bytes, uint64_t steps);

  // For a step, where the row is not too old.
  Found find(uint64_t id, uint64_t step);
  // A row that `asked`, a step, has asked for.
  void put(uint64_t id, uint64_t asked, int64_t base, const std::byte* row);
  // No row that is here may be used any more.
  void clear();

  uint64_t rows() const { return rows_; }  // too old ones, whose place is not needed yet, too
  uint64_t bytes() const { return sets_ * set_bytes_; }  // that it may come to hold

 private:
  static constexpr size_t ways = 8;
  enum Use : uint8_t { empty, unused, used };  // since the hand went over it
  struct Set {
    uint64_t ids[ways], asked[ways];
    int64_t base[ways];
    Use use[ways];
    uint32_t hand;
    uint32_t generation;  // rows of an earlier one are not there
  };
  struct Free {
    void operator()(std::byte* block) const;
  };
  Set* set_of(uint64_t id) const;
  size_t replaced(Set& set, uint64_t asked);
  std::byte* row_of(Set* set, size_t way) const {
    return reinterpret_cast<std::byte*>(set) + sizeof(Set) + way * row_bytes_;
  }

  const size_t row_bytes_, set_bytes_;
  const uint64_t sets_, steps_;
  std::unique_ptr<std::byte[], Free> block_;
  uint32_t generation_ = 0;
  uint64_t rows_ = 0;
};

}  // namespace paddle
