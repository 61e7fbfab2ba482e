// A line of a store's index, and how it is searched.
#pragma once

#include <bit>
#include <cstdint>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace paddle {

inline constexpr int slots_per_bucket = 21;
inline constexpr uint32_t buckets_per_block = 256;  // 16 KiB

struct alignas(64) Bucket {
  uint8_t tags[slots_per_bucket];  // 0 = the slot is free
  uint8_t passed;                  // rows of this bucket that found it full and went on; 255 = many
  uint16_t rows[slots_per_bucket];
};
static_assert(sizeof(Bucket) == 64);

// The last bits, as others choose segment and bucket.
inline uint8_t tag_of(uint64_t hash) {
  const auto tag = static_cast<uint8_t>(hash);
  return tag == 0 ? 1 : tag;
}

// One bit for each slot with this tag.
inline uint32_t slots_with(const Bucket& b, uint8_t tag) {
  constexpr uint32_t all = (1u << slots_per_bucket) - 1;
#ifdef __SSE2__
  const __m128i wanted = _mm_set1_epi8(static_cast<char>(tag));
  const auto* line = reinterpret_cast<const __m128i*>(&b);
  const int low = _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_load_si128(line), wanted));
  const int high = _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_load_si128(line + 1), wanted));
  return (static_cast<uint32_t>(low) | static_cast<uint32_t>(high) << 16) & all;
#else
  uint32_t found = 0;
  for (int i = 0; i < slots_per_bucket; ++i) found |= uint32_t{b.tags[i] == tag} << i;
  return found & all;
#endif
}

// Into the second level of the cache: more lines may be on their way there than into the first.
// Always inlined: g++ takes a function that only prefetches for one without effect, and drops
// calls.
__attribute__((always_inline)) inline void prefetch_line(const void* p) {
  __builtin_prefetch(p, 0, 2);
}

}  // namespace paddle
