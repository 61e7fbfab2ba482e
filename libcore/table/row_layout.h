// Where things lie in a row: head, values, state.
#pragma once

#include <cstddef>
#include <cstdint>

#include "table/bfloat.h"
#include "table/row_store.h"

namespace paddle {

struct RowLayout {
  int64_t width = 0;
  bool bf16 = false;
  int64_t state_numbers = 0;

  size_t value_bytes() const {
    const auto n = static_cast<size_t>(width);
    return bf16 ? (n * 2 + 3) / 4 * 4 : n * 4;
  }
  // Head and values: what a pull reads.
  size_t read_bytes() const { return sizeof(RowHead) + value_bytes(); }
  size_t row_bytes() const { return read_bytes() + static_cast<size_t>(state_numbers) * 4; }

  float* floats(std::byte* row) const { return reinterpret_cast<float*>(row + sizeof(RowHead)); }
  float* states(std::byte* row) const { return reinterpret_cast<float*>(row + read_bytes()); }
  const float* states(const std::byte* row) const {
    return reinterpret_cast<const float*>(row + read_bytes());
  }

  // Pieces of fixed length become plain moves; a call for 64 bytes would cost more than they do.
  void copy_floats(const std::byte* from, float* out) const {
    auto* to = reinterpret_cast<std::byte*>(out);
    size_t left = static_cast<size_t>(width) * 4;
    for (; left >= 64; left -= 64, from += 64, to += 64) __builtin_memcpy(to, from, 64);
    for (; left >= 16; left -= 16, from += 16, to += 16) __builtin_memcpy(to, from, 16);
    for (; left > 0; left -= 4, from += 4, to += 4) __builtin_memcpy(to, from, 4);
  }
  void read(const std::byte* row, float* out) const {
    if (!bf16) {
      copy_floats(row + sizeof(RowHead), out);
      return;
    }
    const auto* halves = reinterpret_cast<const uint16_t*>(row + sizeof(RowHead));
    for (int64_t j = 0; j < width; ++j) out[j] = from_bf16(halves[j]);
  }
  void write(const float* values, std::byte* row) const {
    if (!bf16) {
      __builtin_memcpy(row + sizeof(RowHead), values, static_cast<size_t>(width) * 4);
      return;
    }
    auto* halves = reinterpret_cast<uint16_t*>(row + sizeof(RowHead));
    for (int64_t j = 0; j < width; ++j) halves[j] = to_bf16(values[j]);
    if (width % 2 != 0) halves[width] = 0;
  }
};

}  // namespace paddle
