// Copies columns of op(b) into panels that tiles read without gaps. Included by gemm_tiles.cc
// alone, once per instruction set: everything is local to the file.
#pragma once

#include <cstdint>

#include "kernels/gemm_lanes.h"

namespace paddle {
namespace {

// Rows of op(b) become rows of a panel of so many vectors, filled up with zeros.
template <int bytes, int vectors, class T>
void pack_rows(const T* from, int64_t stride, int64_t k, int64_t columns, T* to) {
  constexpr int lanes = Lanes<T, bytes>::count;
  for (int v = 0; v < vectors; ++v) {
    const Some<T, bytes> some(columns - v * lanes);
    for (int64_t p = 0; p < k; ++p)
      store<bytes>(to + (p * vectors + v) * lanes, some.load(from + p * stride + v * lanes));
  }
}

template <class T>
void pack_transposed_plain(const T* from, int64_t stride, int64_t k, int64_t columns, int64_t width,
                           T* to) {
  for (int64_t p = 0; p < k; ++p)
    for (int64_t j = 0; j < columns; ++j) to[p * width + j] = from[j * stride + p];
}

// to[p * width + j] = from[j * stride + p] for 8 x 8 elements: two quarters at a time are loaded
// into the halves of a vector and exchanged within these, which no other exchange is as fast as.
inline void transpose8(const float* from, int64_t stride, float* to, int64_t width) {
  using Eight = Lanes<float, 32>::Vector;
  for (int h = 0; h < 2; ++h, from += 4, to += 4 * width) {
    Eight x[4], y[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
      x[i] = __builtin_shufflevector(load<16>(from + i * stride), load<16>(from + (i + 4) * stride),
                                     0, 1, 2, 3, 4, 5, 6, 7);
#pragma GCC unroll 2
    for (int i = 0; i < 4; i += 2) {
      y[i] = __builtin_shufflevector(x[i], x[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
      y[i + 1] = __builtin_shufflevector(x[i], x[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      store<32>(to + 2 * i * width,
                __builtin_shufflevector(y[i], y[i + 2], 0, 1, 8, 9, 4, 5, 12, 13));
      store<32>(to + (2 * i + 1) * width,
                __builtin_shufflevector(y[i], y[i + 2], 2, 3, 10, 11, 6, 7, 14, 15));
    }
  }
}

// 8 columns of 8 to 16 rows as 8 rows without gaps. What lies in the last 8 rows and in the first 8
// is written twice.
inline void transpose_rows(const float* from, int64_t stride, int64_t rows, float* to) {
  transpose8(from, stride, to, rows);
  if (rows > 8) transpose8(from + (rows - 8) * stride, stride, to + rows - 8, rows);
}

void pack_transposed(const float* from, int64_t stride, int64_t k, int64_t columns, int64_t width,
                     float* to) {
  const int64_t even_k = k / 8 * 8, even_columns = columns / 8 * 8;
  // Blocks whose copy stays in L1 until all columns are there.
  constexpr int64_t block = 128;
  for (int64_t q = 0; q < even_k; q += block)
    for (int64_t j = 0; j < even_columns; j += 8)
      for (int64_t p = q; p < even_k && p < q + block; p += 8)
        transpose8(from + j * stride + p, stride, to + p * width + j, width);
  pack_transposed_plain(from + even_columns * stride, stride, even_k, columns - even_columns, width,
                        to + even_columns);
  pack_transposed_plain(from + even_k, stride, k - even_k, columns, width, to + even_k * width);
}

void pack_transposed(const double* from, int64_t stride, int64_t k, int64_t columns, int64_t width,
                     double* to) {
  pack_transposed_plain(from, stride, k, columns, width, to);
}

}  // namespace
}  // namespace paddle
