// A shard's part of a sparse table: the rows whose ids shard_of() gives to it, under versions. In
// sync the gradients of a round are kept until it closes, the first as it came and further ones as
// a sum per row; the rows from before the last round stay readable for a trainer that starts again
// inside the next one. Memory is taken from the pserver's budget before rows are made.
#pragma once

#include <span>
#include <vector>

#include "base/byte_budget.h"
#include "graph/table_spec.h"
#include "pserver/versioned.h"
#include "table/row_sum.h"
#include "table/table.h"
#include "tensor/scope.h"

namespace paddle {

// What a configuration or a snapshot says of a part.
struct TableInfo {
  uint32_t id = 0;  // behind those of all slices
  uint32_t part = 0, parts = 1;
  TableSpec spec;
  bool rows_follow = false;  // they are sent, and do not begin as the description says
};

// A message with rows has at most so many bytes of ids and rows.
inline constexpr uint64_t max_rows_bytes = uint64_t{1} << 30;

class TablePart final : public Versioned {
 public:
  // `rate` is the variable with the learning rate; null where the rule takes none. Throws
  // Error(config) for a description that makes no sense.
  TablePart(TableInfo info, size_t place, const Variable* rate, ByteBudget* budget);

  const TableInfo& table_info() const { return table_info_; }
  Table& table() { return table_; }
  const Table& table() const { return table_; }

  bool has_previous() const override { return has_previous_; }
  uint64_t bytes() const override { return table_.bytes(); }
  bool lowered() const override { return false; }

  std::optional<uint64_t> gradient_bytes(uint32_t rows) const override;
  std::string gradient_problem(const Gradient& grad) override;
  double largest_in(const Gradient& grad) override;
  void contribute(const Gradient& grad) override;
  void close_round() override;
  bool update(const Gradient& grad, bool geo) override;
  void restart(uint64_t version) override;

  // Why ids cannot be asked for here, "" where they can.
  std::string ids_problem(std::span<const uint64_t> ids) const;
  // Bytes of so many rows as they travel to a trainer.
  uint64_t row_bytes(uint64_t rows) const;
  // The rows of ids, of this version or the one before, as they travel. Throws Error(numeric) where
  // one holds NaN or Inf.
  void read(std::span<const uint64_t> ids, bool before, std::byte* out);

  // First values of rows that were sent (table/part.h). "", or why they make no sense.
  std::string set_rows(std::span<const std::byte> chunk);
  // Rows that it must have before it is complete.
  uint64_t expected_rows() const;

  // A part of a dump (Table::dump_part), the first one of about so many bytes that `follow`. Throws
  // Error(data), and Error(config) for memory.
  void load(std::span<const std::byte> chunk, uint64_t follow = 0);

  // What it has taken from the pserver's budget, and that again by what it holds.
  ByteClaim& claim() { return claim_; }
  void count_memory();

  // Removes rows that expire, a few at a time, so that no call takes long. Whether there is more to
  // do at once.
  bool expire_some();

 private:
  struct Rows {
    std::span<const uint64_t> ids;
    const float* values = nullptr;
  };
  Rows rows_of(const Gradient& grad);
  void take_memory(size_t rows);

  TableInfo table_info_;
  const Variable* rate_;
  Table table_;
  ByteClaim claim_;
  bool has_previous_ = false;
  RowSum sum_;
  std::vector<uint64_t> ids_;  // of the round's first gradient, or of the sum
  std::vector<float> grads_;
  std::vector<float> wide_;     // rows that came in 16 bits
  std::vector<uint64_t> seen_;  // ids of a gradient, by hash: finds one that is twice there
  uint64_t expire_from_ = 0, expired_at_ = 0;  // how far expiry is, and the version it began at
};

}  // namespace paddle
