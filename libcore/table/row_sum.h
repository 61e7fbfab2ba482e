// The gradients of a round: rows of several trainers become one row per id. Add them in the order
// of trainers, and the sums have the same bits whatever the order of ids in a message.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "table/row_store.h"

namespace paddle {

class RowSum {
 public:
  explicit RowSum(int64_t width);

  size_t rows() const { return sums_.size(); }
  size_t bytes() const { return sums_.bytes(); }
  // The gradient of one trainer: distinct ids, `width` numbers for each.
  void add(std::span<const uint64_t> ids, const float* grads);
  // All ids with their sums, multiplied by `factor` as the op `scale` does it; nothing is left.
  void take(float factor, std::vector<uint64_t>& ids, std::vector<float>& grads);

 private:
  int64_t width_;
  MemoryLimit memory_;
  RowStore sums_;
  std::vector<size_t> absent_;
};

}  // namespace paddle
