// Rows of a table as bytes, in parts that can be checked one by one: what dumps, files of tables
// and messages with rows are made of. A part is, in this order and little-endian: the head below,
// the ids that were removed (8 bytes each), the rows as a table keeps them (head, values, state).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "table/row_layout.h"

namespace paddle {

struct TableOptions;

struct PartHead {
  char magic[8];
  uint64_t checksum;  // of all that follows
  uint64_t kind;      // what rows look like: PartFormat::kind
  uint64_t rows, removed;
  uint32_t clock, since;  // it holds the updates after `since` up to `clock`
  uint32_t part;          // counted from 0
  uint32_t last;          // 1 = no part follows
  uint32_t row_bytes, zero;
};
static_assert(sizeof(PartHead) == 64);

inline constexpr size_t part_target = size_t{4} << 20;  // bytes after which a part is closed

struct PartFormat {
  std::string table;  // for sentences
  // Tables whose rows mean the same have the same number: name, width, type, rule and state.
  uint64_t kind = 0;
  RowLayout layout;
};
PartFormat part_format(const TableOptions& options, const RowLayout& layout);
// The same of a table that does not exist here. Throws Error(config) for an unknown rule.
PartFormat part_format(const TableOptions& options);

// A part that is being written.
class PartWriter {
 public:
  explicit PartWriter(PartFormat format) : format_(std::move(format)) {}
  // The bytes go to `chunk`, which is emptied. Parts of one dump are numbered.
  void begin(std::vector<std::byte>& chunk, uint32_t part);
  void remove(uint64_t id);  // before the first row
  void add(const std::byte* row);
  void add_all(std::span<const std::byte> rows);
  // The same from numbers: `states` as the table keeps them.
  void add(const RowHead& head, const float* values, std::span<const float> states);
  void end(uint32_t clock, uint32_t since, bool last);

  uint64_t rows() const { return head_.rows; }
  bool full() const { return chunk_->size() >= part_target; }
  const PartFormat& format() const { return format_; }

 private:
  PartFormat format_;
  PartHead head_{};
  std::vector<std::byte>* chunk_ = nullptr;
};

// A whole part.
struct PartView {
  PartHead head;
  const std::byte* removed = nullptr;
  std::span<const std::byte> rows;

  template <class F>  // f(row)
  void each_row(const F& f) const {
    for (size_t at = 0; at < rows.size(); at += head.row_bytes) f(rows.data() + at);
  }
};
// Throws Error(data) for damage or rows of another kind.
PartView read_part(std::span<const std::byte> chunk, const PartFormat& format);

}  // namespace paddle
