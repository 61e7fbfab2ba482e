#include "table/old_rows.h"

#include <algorithm>
#include <cstring>

namespace paddle {

void OldRows::add(const std::byte* row) {
  if (size_ == blocks_.size() * rows_per_block)
    blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(rows_per_block * row_bytes_));
  std::memcpy(at(size_), row, row_bytes_);
  ++size_;
}

const std::byte* OldRows::find(uint64_t id) const {
  for (; indexed_ < size_; ++indexed_)
    index_.emplace(uint64_t{head_of(at(indexed_))->id}, indexed_);
  const auto found = index_.find(id);
  return found == index_.end() ? nullptr : at(found->second);
}

// As much memory stays as the round has used: the next one is like it.
void OldRows::clear() {
  blocks_.resize((size_ + rows_per_block - 1) / rows_per_block);
  index_ = {};
  size_ = indexed_ = 0;
}

size_t OldRows::bytes() const {
  return blocks_.size() * rows_per_block * row_bytes_ + index_.size() * bytes_per_entry;
}

size_t OldRows::bytes_bound(size_t more) const {
  const size_t blocks = (size_ + more + rows_per_block - 1) / rows_per_block;
  const size_t entries = index_.empty() ? 0 : size_ + more;
  return std::max(blocks, blocks_.size()) * rows_per_block * row_bytes_ + entries * bytes_per_entry;
}

}  // namespace paddle
