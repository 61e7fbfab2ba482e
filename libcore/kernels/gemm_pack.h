// Copies columns of op(b) into panels that tiles read without gaps. Included by gemm_tiles.cc
// alone, once per instruction set: everything is local to the file.
#pragma once

#include <cstdint>

#include "kernels/simd.h"

namespace paddle {
namespace {

// Rows of op(b) become rows of a panel `width` wide, filled up with zeros.
template <class T>
void pack_rows(const T* from, int64_t stride, int64_t k, int64_t columns, int64_t width, T* to) {
  for (int64_t p = 0; p < k; ++p) {
    for (int64_t j = 0; j < columns; ++j) to[p * width + j] = from[p * stride + j];
    for (int64_t j = columns; j < width; ++j) to[p * width + j] = 0;
  }
}

template <class T>
void pack_transposed_plain(const T* from, int64_t stride, int64_t k, int64_t columns, int64_t width,
                           T* to) {
  for (int64_t p = 0; p < k; ++p)
    for (int64_t j = 0; j < columns; ++j) to[p * width + j] = from[j * stride + p];
}

// to[p * width + j] = from[j * stride + p] for 8 x 8 elements, in three rounds of exchanges.
inline void transpose8(const float* from, int64_t stride, float* to, int64_t width) {
  using Loose8 = Lanes<float, 32>::Loose;
  Lanes<float, 32>::Vector x[8], y[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) x[i] = *reinterpret_cast<const Loose8*>(from + i * stride);
#pragma GCC unroll 8
  for (int i = 0; i < 8; i += 2) {
    y[i] = __builtin_shufflevector(x[i], x[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    y[i + 1] = __builtin_shufflevector(x[i], x[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
#pragma GCC unroll 8
  for (int i = 0; i < 8; i += 4)
    for (int h = 0; h < 2; ++h) {
      x[i + 2 * h] = __builtin_shufflevector(y[i + h], y[i + 2 + h], 0, 1, 8, 9, 4, 5, 12, 13);
      x[i + 2 * h + 1] =
          __builtin_shufflevector(y[i + h], y[i + 2 + h], 2, 3, 10, 11, 6, 7, 14, 15);
    }
#pragma GCC unroll 8
  for (int i = 0; i < 4; ++i) {
    y[i] = __builtin_shufflevector(x[i], x[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    y[i + 4] = __builtin_shufflevector(x[i], x[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) *reinterpret_cast<Loose8*>(to + i * width) = y[i];
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
