// A dump of a table that is under way.
#pragma once

#include <algorithm>
#include <deque>

#include "table/table.h"

namespace paddle {

// Bytes of a part of a dump beside updates, which wait for it: about a millisecond.
inline constexpr size_t dump_target = size_t{2} << 20;

// Rows as they were, which have changed before they were written: a row is copied once and written
// with the next part, so it is never looked up. In pieces, as a long list would be moved when it
// grows.
class ChangedRows {
 public:
  bool empty() const { return pieces_.empty(); }
  size_t bytes() const {
    size_t sum = spare_.capacity();
    for (const std::vector<std::byte>& p : pieces_) sum += p.capacity();
    return sum;
  }
  size_t bytes_bound(size_t more) const {
    return bytes() + least + 4 * (more + (pieces_.empty() ? 0 : pieces_.back().size()));
  }
  void add(const std::byte* row, size_t bytes) {
    if (pieces_.empty() || pieces_.back().size() + bytes > dump_target) {
      pieces_.push_back(std::move(spare_));
      spare_ = {};
      pieces_.back().clear();
    }
    std::vector<std::byte>& to = pieces_.back();
    if (to.size() + bytes > to.capacity())
      to.reserve(
          std::clamp(4 * to.capacity(), std::max(bytes, least), std::max(bytes, dump_target)));
    to.insert(to.end(), row, row + bytes);
  }
  // The rows that were added first.
  std::span<const std::byte> first() const { return pieces_.front(); }
  void drop_first() {
    spare_ = std::move(pieces_.front());
    pieces_.pop_front();
  }

 private:
  static constexpr size_t least = size_t{64} << 10;  // bytes of a piece that is begun
  std::deque<std::vector<std::byte>> pieces_;
  std::vector<std::byte> spare_;
};

struct Table::DumpState {
  uint32_t clock = 0;   // of the last update that it holds
  uint32_t since = 0;   // it holds what changed after this clock; 0 = all
  uint64_t from = 0;    // rows with a lower hash are written
  uint32_t row = 0;     // and those in front of this one in its segment, where no row has moved
  uint64_t places = 0;  // RowStore::places() then
  bool walked = false;  // all of them are
  bool ended = false;   // the last part is written
  uint32_t part = 0;
  ChangedRows changed;
};

}  // namespace paddle
