// Rows as they were before a round, in the order in which they changed. Hardly ever somebody asks
// for one (a trainer that starts again inside a round): only then they are indexed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "table/row_store.h"

namespace paddle {

class OldRows {
 public:
  // Keeps the first `row_bytes` of a row, the head among them.
  explicit OldRows(size_t row_bytes) : row_bytes_(row_bytes) {}

  // The first copy of an id counts.
  void add(const std::byte* row);
  const std::byte* find(uint64_t id) const;  // null where there is none
  void clear();

  size_t bytes() const;
  // What bytes() is at most after so many more.
  size_t bytes_bound(size_t more) const;

 private:
  static constexpr size_t rows_per_block = 1024, bytes_per_entry = 64;  // of the index, roughly
  std::byte* at(size_t row) const {
    return blocks_[row / rows_per_block].get() + row % rows_per_block * row_bytes_;
  }

  const size_t row_bytes_;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  size_t size_ = 0;
  mutable std::unordered_map<uint64_t, size_t> index_;
  mutable size_t indexed_ = 0;
};

}  // namespace paddle
