// A sparse table: 64-bit ids and their rows, each with values, the state of its optimizer, the step
// of its last update and the number of its updates. Rows come into being by updates; a pull of an
// id without a row gives the values that the row would begin with. Plain calls, no clock, no file,
// no socket; belongs to one thread. docs/tables.md describes what a row costs and what the options
// do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "table/old_rows.h"
#include "table/part.h"
#include "table/partition.h"
#include "table/row_init.h"
#include "table/row_layout.h"
#include "table/row_store.h"
#include "table/update.h"

namespace paddle {

// Which ids get a row. Both are off by default; the updates of an id without a row are dropped.
struct RowAdmission {
  uint32_t min_count = 0;  // the id's updates, this one included
  float probability = 1;   // decided per update, from the seed, the id and the step
};

// Which rows go. Off by default.
struct Expiry {
  uint32_t unseen_steps = 0;  // without an update for more than so many steps; 0 = off
  float min_score = 0;        // with a lower score; 0 = off
  uint32_t half_life = 0;     // of the score, in steps: count / 2^(unseen / half_life); 0 = count
  size_t floor = 0;           // rows that stay in any case
};

struct TableOptions {
  std::string name;
  uint64_t seed = 0;
  int64_t width = 0;  // values per row
  bool bf16 = false;  // values in 16 bits; state stays in 32
  RowInit init;
  std::string rule = "sgd";
  NamedNumbers settings;  // of the rule
  float l2 = 0;           // decay of the rows that an update touches
  RowAdmission admission;
  Expiry expiry;
  size_t memory_limit = 0;  // bytes; 0 = none
  bool evict = false;       // at the limit: remove rows with the lowest scores, not refuse new ones
};

struct TableCounters {
  uint64_t created = 0;       // rows, those that were read from a dump too
  uint64_t not_admitted = 0;  // updates that were dropped
  uint64_t expired = 0, evicted = 0;
  uint64_t pulled = 0, missed = 0;  // ids, as count_pull() was given them
};

class Table {
 public:
  // Throws Error(config) for options that make no sense.
  explicit Table(TableOptions options);
  ~Table();

  const TableOptions& options() const { return options_; }
  const TableCounters& counters() const { return counters_; }
  void count_pull(uint64_t ids, uint64_t missed) {
    counters_.pulled += ids;
    counters_.missed += missed;
  }
  size_t rows() const { return store_.size(); }
  // All memory of the table, and that of old rows and of ids that wait for admission.
  size_t bytes() const;
  // No more than this after an update of so many ids, whatever they are.
  size_t bytes_bound(size_t ids) const;
  // Memory of the rows and their index alone.
  size_t row_memory() const { return store_.bytes(); }

  // out[i] = the values of ids[i], `width` each. How many of them have no row.
  size_t pull(std::span<const uint64_t> ids, float* out) const;
  // One update of distinct ids; grads has `width` numbers for each. `step` is the number of the
  // update in the table's own order: it never falls. Throws Error(config) at the limit of memory,
  // with nothing changed.
  void push(std::span<const uint64_t> ids, const float* grads, float learning_rate, uint64_t step);
  // Sets values, with the optimizer's first state.
  void assign(std::span<const uint64_t> ids, const float* values, uint64_t step);
  // Sets values, and a row that is there keeps its state; counts as an update. At the limit of
  // memory as push(), but what was set before that stays.
  void replace(std::span<const uint64_t> ids, const float* values, uint64_t step);

  struct Row {
    std::vector<float> values, states;
    uint64_t step = 0;  // of the last update
    uint32_t count = 0;
  };
  std::optional<Row> find(uint64_t id) const;
  // A number that changes with any bit of any row and does not depend on their order. The digests
  // of the shards of a table add up to that of the whole.
  uint64_t digest() const;
  // f(id) for each row with an update at `step` or later.
  template <class F>
  void each_changed_since(uint64_t step, const F& f) const {
    uint64_t from = 0;
    do {
    } while (store_.visit(from, [&](const std::byte* row) {
      if (head_of(row)->step > step) f(head_of(row)->id);
    }));
  }

  // Sync training: the update of `step` begins. Until the next call, the values from before its
  // first push stay readable: only rows that were touched since are kept twice.
  void begin_round(uint64_t step);
  // As pull(), of the version before the round.
  size_t pull_before(std::span<const uint64_t> ids, float* out) const;

  // Looks at the rows of a part of the table and removes those that expire at `step`; with
  // `dry_run` it only counts them. `from` starts at 0 and moves on; done when it returns false.
  struct Expired {
    size_t seen = 0, rows = 0;
  };
  bool expire_part(uint64_t& from, uint64_t step, bool dry_run, Expired& sum);

  // A dump of the rows as they are now, written part by part (part.h) while updates go on. With
  // `since`, only rows changed after the dump of that mark, and ids removed: the mark of an earlier
  // dump, or of one that was read, and not before the `since` of the last dump, which forgets what
  // was before it. One at a time. Returns its mark.
  uint64_t begin_dump(uint64_t since = 0);
  bool knows_changes_since(uint64_t mark) const { return logs_removed_ && mark >= logged_from_; }
  // Rows that have changed and ids that were removed since the last dump began, or was read.
  size_t changed() const { return changed_ + removed_.size(); }
  // After a dump was read: its mark, from which dumps of changes can go on from now on; 0 where
  // there is none, or rows were removed since.
  uint64_t continue_dumps();
  // The next part, about 2 MiB, into `chunk`. False after the last. Where rows have moved since the
  // last part, some may come twice, with the same bytes.
  bool dump_part(std::vector<std::byte>& chunk);
  void end_dump();
  // Without a dump: the rows from `from` on, which starts at 0 and moves on, as part `part`. Done
  // when it returns false. Updates between two calls are in some parts and not in others.
  bool copy_part(uint64_t& from, uint32_t part, std::vector<std::byte>& chunk) const;
  PartFormat format() const { return part_format(options_, layout_); }
  // Prepares a table without rows for so many, which are about to be loaded.
  void expect(size_t rows);
  // Takes the rows of a part that belong to this shard of so many. Parts of one dump come in order,
  // dumps from the full one on. Throws Error(data) for damage or a table of another kind.
  void load_part(std::span<const std::byte> chunk, uint32_t shard = 0, uint32_t shards = 1);

 private:
  struct DumpState;
  struct RemovedId {
    uint64_t id;
    uint32_t clock;
  };

  void write_first(uint64_t id, float* out) const;
  bool admit(uint64_t id, uint64_t step);
  void set_clock(uint64_t step);
  bool fits(size_t more) const;
  void make_rows(std::span<const uint64_t> ids, uint64_t step);
  std::byte* make_row(uint64_t id);
  void make_row_evicting(uint64_t id);
  void push_absent(std::span<const uint64_t> ids, const float* grads, float learning_rate,
                   uint64_t step);
  void evict_part();
  void update_rows(std::span<std::byte* const> rows, const float* const* grads, float learning_rate,
                   uint64_t step);
  void keep_old(const std::byte* row);
  void remove_row(uint64_t id);
  void forget_waiting(uint64_t end, uint64_t step);
  double score(const RowHead& head, uint64_t step) const;
  void read_rows(std::span<const std::byte> rows, uint32_t shard, uint32_t shards);

  TableOptions options_;
  uint64_t key_;  // of its random numbers
  RowUpdate update_;
  RowLayout layout_;
  TableCounters counters_;
  MemoryLimit budget_, old_budget_;  // rows; copies of old ones, which no limit stops
  RowStore store_;
  RowStore waiting_;                            // ids that wait for admission: heads only
  OldRows before_;                              // values from before the round
  uint32_t clock_ = 0;                          // step + 1 of the last update
  uint32_t round_clock_ = 0;                    // 0 = no round
  uint64_t evict_from_ = 0, waiting_from_ = 0;  // how far evict_part() and expire_part() are
  std::unique_ptr<DumpState> dump_;
  bool logs_removed_ = false;  // there was a dump, and the next may be one of changes
  uint32_t logged_from_ = 0;   // ids removed after this clock are known
  uint32_t mark_ = 0;          // of the last dump that began or was read
  size_t changed_ = 0;         // rows that have changed since
  std::vector<RemovedId> removed_;
  uint32_t next_part_ = 0;    // of the dump that is being read
  uint64_t loaded_mark_ = 0;  // of the last one that was
  // Scratch of a push.
  std::vector<size_t> absent_;
  std::vector<float> wide_;  // bf16: the values of a group of rows
};

}  // namespace paddle
