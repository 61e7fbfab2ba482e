// Geo for rows of sparse tables: a trainer updates the rows of its batches by itself. Rows that a
// batch names for the first time since the last exchange are pulled; an exchange sends, for each of
// these rows, what was changed here, divided by the number of trainers, and the shards add it.
// After that all rows are pulled anew when a batch names them, so no value is older than an
// exchange. The optimizer's state of rows stays here from exchange to exchange, as far as memory
// goes. A state machine without I/O, as exchange.h is.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "graph/table_spec.h"
#include "table/row_store.h"
#include "table/table.h"

namespace paddle {

struct GeoRowsOptions {
  uint32_t trainers = 1;
  uint64_t steps = 1;                   // between two exchanges
  uint64_t memory = uint64_t{1} << 30;  // of all rows here; rows of one batch may come on top
};

class GeoRows {
 public:
  static constexpr uint64_t forgotten_period = 1000;

  GeoRows(const std::vector<TableSpec>& tables, const GeoRowsOptions& options);

  // ---- a step of the trainer
  void begin_step(uint64_t step) {
    step_ = step;
    in_step_ = true;
  }
  // A pull that is not of a step's batch reads only.
  bool in_step() const { return in_step_; }
  // Of distinct ids those whose rows have to come from the shards; then their rows, in that order.
  // The list stays until the next call for the table.
  std::span<const uint64_t> lacking(int32_t table, std::span<const uint64_t> ids);
  float* incoming(int32_t table);
  void arrived(int32_t table);
  // Rows of ids, all of which are here.
  void take(int32_t table, std::span<const uint64_t> ids, float* rows) const;
  // Outside a step: `rows` are the shards', and those that were changed here replace them.
  void replace_changed(int32_t table, std::span<const uint64_t> ids, float* rows) const;
  void set_rate(int32_t table, float rate);
  // Updates rows that are here. One that is made again for a step that broke changes nothing.
  void update(int32_t table, std::span<const uint64_t> ids, const float* grads);
  // Whether an exchange is due behind the step.
  bool end_step();

  // ---- an exchange
  // Something was updated since the last one.
  bool changed() const;
  // Whether an exchange under this step has anything to tell: not one that is made again.
  bool sends(uint64_t step) const { return changed() || step >= next_exchange_; }
  struct Differences {
    std::span<const uint64_t> ids;
    const float* values = nullptr;
  };
  // Of the rows that were updated since the last exchange, as they are sent. Valid until the next
  // call.
  Differences differences(int32_t table);
  // All of them were handed on, under this step.
  void exchanged(uint64_t step);

  // How many rows were forgotten at the bound of memory since it was last told: at once where none
  // was before, then once in `forgotten_period` steps; else 0.
  uint64_t take_forgotten(uint64_t step);

  size_t tables() const { return kept_.size(); }
  // Of rows and of what they were when they came.
  uint64_t bytes() const;
  uint64_t rows(int32_t table) const { return kept(table).rows->rows(); }

 private:
  struct Kept {
    TableOptions options;
    std::unique_ptr<MemoryLimit> budget;  // none; of `bases`
    std::unique_ptr<RowStore> bases;      // values as the shard has them, since the last exchange
    std::unique_ptr<Table> rows;          // values and state as they are here
    size_t most_rows = 0;
    uint64_t updates = 0, period_begin = 0;  // so many were made; of them before the last exchange
    uint64_t next_step = 0;                  // steps before it have their update
    float rate = 0;
    std::vector<uint64_t> ids;
    std::vector<float> values;
  };
  Kept& kept(int32_t table) { return kept_[static_cast<size_t>(table)]; }
  const Kept& kept(int32_t table) const { return kept_[static_cast<size_t>(table)]; }
  static void forget_some(Kept& k);

  const float trainers_;
  const uint64_t steps_;
  std::vector<Kept> kept_;
  uint64_t step_ = 0, next_exchange_ = 0;
  bool in_step_ = false, due_ = false;
  uint64_t forgotten_ = 0, tell_from_ = 0;  // rows, and the step from which they are told
};

}  // namespace paddle
