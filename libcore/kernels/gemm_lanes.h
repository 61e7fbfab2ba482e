// Loading and storing vectors, whole or in part. Included by gemm_tiles.cc alone, once per
// instruction set: everything is local to the file.
#pragma once

#include <cstdint>

#include "kernels/simd.h"
#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace paddle {
namespace {

constexpr int64_t vector_bytes = PS_TILE_BYTES;

template <int bytes, class T>
PS_INLINE typename Lanes<T, bytes>::Vector load(const T* at) {
  return *reinterpret_cast<const typename Lanes<T, bytes>::Loose*>(at);
}
template <int bytes, class T>
PS_INLINE void store(T* at, const typename Lanes<T, bytes>::Vector& v) {
  *reinterpret_cast<typename Lanes<T, bytes>::Loose*>(at) = v;
}

// The first `count` lanes of a vector: what is behind them is loaded as zero and not touched in
// memory. None where count is negative, all where it is more than there are.
template <class T, int bytes>
struct Some {
  using Vector = typename Lanes<T, bytes>::Vector;
  int64_t count;

  explicit Some(int64_t given)
      : count(given < Lanes<T, bytes>::count ? given : Lanes<T, bytes>::count) {}
  PS_INLINE Vector load(const T* at) const {
    Vector v = {};
    for (int64_t l = 0; l < count; ++l) v[l] = at[l];
    asm("" : "+m"(v));  // or the compiler takes lanes one by one, and rounds them in its own way
    return v;
  }
  PS_INLINE void store(T* at, const Vector& v) const {
    for (int64_t l = 0; l < count; ++l) at[l] = v[l];
  }
};

#if defined(__AVX2__)
template <>
struct Some<float, 16> {
  __m128i mask;

  explicit Some(int64_t count)
      : mask(_mm_cmpgt_epi32(_mm_set1_epi32(static_cast<int>(count)), _mm_setr_epi32(0, 1, 2, 3))) {
  }
  PS_INLINE __m128 load(const float* at) const { return _mm_maskload_ps(at, mask); }
  PS_INLINE void store(float* at, __m128 v) const { _mm_maskstore_ps(at, mask, v); }
};
template <>
struct Some<double, 16> {
  __m128i mask;

  explicit Some(int64_t count)
      : mask(_mm_cmpgt_epi64(_mm_set1_epi64x(count), _mm_set_epi64x(1, 0))) {}
  PS_INLINE __m128d load(const double* at) const { return _mm_maskload_pd(at, mask); }
  PS_INLINE void store(double* at, __m128d v) const { _mm_maskstore_pd(at, mask, v); }
};
template <>
struct Some<float, 32> {
  __m256i mask;

  explicit Some(int64_t count)
      : mask(_mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)),
                                _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))) {}
  PS_INLINE __m256 load(const float* at) const { return _mm256_maskload_ps(at, mask); }
  PS_INLINE void store(float* at, __m256 v) const { _mm256_maskstore_ps(at, mask, v); }
};
template <>
struct Some<double, 32> {
  __m256i mask;

  explicit Some(int64_t count)
      : mask(_mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3))) {}
  PS_INLINE __m256d load(const double* at) const { return _mm256_maskload_pd(at, mask); }
  PS_INLINE void store(double* at, __m256d v) const { _mm256_maskstore_pd(at, mask, v); }
};
#endif

#if defined(__AVX512F__)
PS_INLINE uint32_t first_bits(int64_t count) {
  return count <= 0 ? 0 : count >= 16 ? 0xffff : (1u << count) - 1;
}
template <>
struct Some<float, 64> {
  __mmask16 mask;

  explicit Some(int64_t count) : mask(static_cast<__mmask16>(first_bits(count))) {}
  PS_INLINE __m512 load(const float* at) const { return _mm512_maskz_loadu_ps(mask, at); }
  PS_INLINE void store(float* at, __m512 v) const { _mm512_mask_storeu_ps(at, mask, v); }
};
template <>
struct Some<double, 64> {
  __mmask8 mask;

  explicit Some(int64_t count) : mask(static_cast<__mmask8>(first_bits(count))) {}
  PS_INLINE __m512d load(const double* at) const { return _mm512_maskz_loadu_pd(mask, at); }
  PS_INLINE void store(double* at, __m512d v) const { _mm512_mask_storeu_pd(at, mask, v); }
};
#endif

}  // namespace
}  // namespace paddle
