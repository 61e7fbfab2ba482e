// bfloat16: the upper half of a float. It takes half the memory and keeps the range.
#pragma once

#include <bit>
#include <cstdint>

namespace paddle {

inline float from_bf16(uint16_t half) { return std::bit_cast<float>(uint32_t{half} << 16); }

// To the nearest, ties to even. NaN stays NaN.
inline uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
  return static_cast<uint16_t>((nan ? bits | 0x400000u : rounded) >> 16);
}

}  // namespace paddle
