// The gradients of a round: rows of several trainers become one row per id. Add them in the order
// of trainers, and the sums have the same bits whatever the order of ids in a message.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace paddle {

class RowSum {
 public:
  explicit RowSum(int64_t width) : width_(width) {}

  size_t rows() const { return ids_.size(); }
  size_t bytes() const;
  // The gradient of one trainer: distinct ids, `width` numbers for each.
  void add(std::span<const uint64_t> ids, const float* grads);
  // All ids with their sums, multiplied by `factor` as the op `scale` does it, in the order in
  // which they came first; nothing is left. The memory of both lists is used for the next sum.
  void take(float factor, std::vector<uint64_t>& ids, std::vector<float>& grads);

 private:
  void make_places(size_t rows);
  size_t place_of(uint64_t id) const;

  int64_t width_;
  std::vector<uint64_t> ids_;
  std::vector<float> sums_;       // a row for each of them
  std::vector<uint32_t> places_;  // by hash: the number of a row and 1, or 0; a power of 2
};

}  // namespace paddle
