// A 64-bit checksum of bytes: four chains of multiplications, as fast as memory. It finds damage,
// not forgery.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/random.h"

namespace paddle {

inline uint64_t checksum64(const void* data, size_t bytes, uint64_t seed = 0) {
  const auto* at = static_cast<const unsigned char*>(data);
  const auto word = [](const unsigned char* p) {
    uint64_t w;
    std::memcpy(&w, p, sizeof w);
    return w;
  };
  const auto add = [](uint64_t sum, uint64_t w) {
    return (std::rotl(sum, 29) ^ w) * 0x9FB21C651E98DF25ull;
  };
  uint64_t lanes[4] = {seed ^ golden, seed + golden, ~seed, seed ^ bytes};
  size_t left = bytes;
  for (; left >= 32; left -= 32, at += 32)
    for (int k = 0; k < 4; ++k) lanes[k] = add(lanes[k], word(at + 8 * k));
  for (; left >= 8; left -= 8, at += 8) lanes[0] = add(lanes[0], word(at));
  if (left > 0) {
    uint64_t rest = 0;
    std::memcpy(&rest, at, left);
    lanes[1] = add(lanes[1], rest);
  }
  uint64_t sum = bytes;
  for (const uint64_t lane : lanes) sum = mix64(sum ^ lane);
  return sum;
}

}  // namespace paddle
