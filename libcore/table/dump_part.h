// One part of a dump as bytes, in this order and little-endian: the head below, the ids that were
// removed (8 bytes each), the rows as the table keeps them (row_layout.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace paddle {

struct TableOptions;

struct PartHead {
  char magic[8];
  uint64_t checksum;  // of all that follows
  uint64_t kind;      // what rows look like: kind_of()
  uint64_t rows, removed;
  uint32_t clock, since;  // it holds the updates after `since` up to `clock`
  uint32_t part;          // counted from 0
  uint32_t last;          // 1 = no part follows
  uint32_t row_bytes, zero;
};
static_assert(sizeof(PartHead) == 64);

// Tables whose rows mean the same have the same number: name, width, type, rule and state.
uint64_t kind_of(const TableOptions& options, int64_t state_numbers);

// What a part holds; the spans lie in its bytes.
struct PartView {
  PartHead head;
  std::span<const std::byte> removed, rows;
};

// Throws Error(data) for damage and for rows of another kind. `table` is its name, for the words.
PartView read_part(std::span<const std::byte> part, const std::string& table, uint64_t kind,
                   size_t row_bytes);

// Completes a part: `part` begins with the room of a head, the rest of it is there. Sets the magic
// and the checksum.
void seal_part(std::vector<std::byte>& part, PartHead head);

}  // namespace paddle
