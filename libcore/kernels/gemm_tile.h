// One tile of a matrix product: so many rows by so many vectors of the result that it stays in
// registers over all terms. Included by gemm_tiles.cc alone, once per instruction set: everything
// is local to the file.
#pragma once

#include <cstdint>

#include "kernels/simd.h"

namespace paddle {
namespace {

constexpr int64_t vector_bytes = PS_TILE_BYTES;
constexpr int64_t tile_rows = PS_TILE_ROWS;
constexpr int64_t tile_vectors = 2;

// What a later tile reads, fetched into L2 by this one: a line per term, `step` apart.
template <class T>
struct Ahead {
  const T* at;
  int64_t step;
};

// What a tile reads and writes. Element (r, p) of op(a) is a[r * a_row + p * a_col]; row p of op(b)
// is at b + p * b_row. A tile that packs copies it to `packed`, without gaps.
template <class T>
struct TileJob {
  const T* a;
  int64_t a_row, a_col;
  const T* b;
  int64_t b_row;
  T* packed;
  const T* start;  // what the sums of a row start from: as many as the tile has columns
  int64_t k;
  T alpha, beta;
  T* c;
  int64_t ldc, columns;  // of the tile's columns, as many are in c
  Ahead<T> ahead;
};

// How a vector of sums becomes part of c.
struct Set {
  template <class Vector, class Loose, class T>
  inline void operator()(const Vector& sum, Loose& c, T, T) const {
    c = sum;
  }
};
struct Add {
  template <class Vector, class Loose, class T>
  inline void operator()(const Vector& sum, Loose& c, T alpha, T) const {
    c += sum * alpha;
  }
};
struct Blend {
  template <class Vector, class Loose, class T>
  inline void operator()(const Vector& sum, Loose& c, T alpha, T beta) const {
    c = beta == 0 ? sum * alpha : sum * alpha + c * beta;
  }
};

template <class Loose, class Put, class Vector, int rows, int vectors, class T>
inline __attribute__((always_inline)) void put_all(const Put& put,
                                                   const Vector (&acc)[rows][vectors], T alpha,
                                                   T beta, T* c, int64_t ldc) {
  constexpr int lanes = sizeof(Vector) / sizeof(T);
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r, c += ldc)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v)
      put(acc[r][v], *reinterpret_cast<Loose*>(c + v * lanes), alpha, beta);
}

template <class T>
void copy_rows(const T* from, int64_t from_row, int rows, int64_t columns, T* to, int64_t to_row) {
  for (int r = 0; r < rows; ++r)
    for (int64_t j = 0; j < columns; ++j) to[r * to_row + j] = from[r * from_row + j];
}

// The arrays of vectors become registers, because all their indices are constants once loops are
// unrolled; and there are just enough registers, if the loop keeps nothing else in them. Hence the
// empty assembly. In the loop it hides that pointers to the rows of a are so far apart: the
// compiler would make one for each row. After it, it hides that the job is as it was: what comes
// then would lie in registers all the time.
template <class T, int rows, int vectors, int bytes, bool packs>
void tile(const TileJob<T>& job) {
  using Vector = typename Lanes<T, bytes>::Vector;
  using Loose = typename Lanes<T, bytes>::Loose;
  constexpr int64_t lanes = Lanes<T, bytes>::count;
  constexpr int groups = (rows + 2) / 3;  // three rows of a share a pointer
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) __builtin_prefetch(job.c + r * job.ldc + job.columns - 1, 1);
  Vector acc[rows][vectors];
#pragma GCC unroll 2
  for (int v = 0; v < vectors; ++v) {
    const Vector start = *reinterpret_cast<const Loose*>(job.start + v * lanes);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) acc[r][v] = start;
  }
  const int64_t a_row = job.a_row, a_col = job.a_col, b_row = job.b_row, step = job.ahead.step;
  const T* a[groups];
#pragma GCC unroll 16
  for (int g = 0; g < groups; ++g) a[g] = job.a + 3 * g * a_row;
  const T* b = job.b;
  const T* ahead = job.ahead.at;
  T* packed = job.packed;
  for (int64_t p = job.k; p > 0; --p) {
    Vector bv[vectors];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) bv[v] = *reinterpret_cast<const Loose*>(b + v * lanes);
    b += b_row;
    __builtin_prefetch(ahead, 0, 2);
    ahead += step;
    if (packs) {
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) *reinterpret_cast<Loose*>(packed + v * lanes) = bv[v];
      packed += vectors * lanes;
    }
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      const T ar = a[r / 3][r % 3 * a_row];
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) acc[r][v] += ar * bv[v];
    }
#pragma GCC unroll 16
    for (int g = 0; g < groups; ++g) {
      a[g] += a_col;
      asm("" : "+r"(a[g]));
    }
  }
  asm volatile("" : : : "memory");
  // A tile that reaches beyond c is put into a full one beside it.
  const T alpha = job.alpha, beta = job.beta;
  const int64_t columns = job.columns;
  T beside[rows * vectors * lanes];
  const bool whole = columns == vectors * lanes;
  T* c = whole ? job.c : beside;
  const int64_t ldc = whole ? job.ldc : vectors * lanes;
  if (!whole) copy_rows(job.c, job.ldc, rows, columns, beside, ldc);
  if (beta == 1)
    put_all<Loose>(Add{}, acc, alpha, beta, c, ldc);
  else if (beta == 0 && alpha == 1)
    put_all<Loose>(Set{}, acc, alpha, beta, c, ldc);
  else
    put_all<Loose>(Blend{}, acc, alpha, beta, c, ldc);
  if (!whole) copy_rows(beside, ldc, rows, columns, job.c, job.ldc);
}

template <class T>
using Tile = void (*)(const TileJob<T>&);

// The widths a tile can have, and what computes it.
template <class T>
struct TileTable {
  static constexpr int64_t lanes = Lanes<T, vector_bytes>::count;
  static constexpr int64_t width = lanes * tile_vectors;
  // Half a vector takes half the time, so that a result of 200 columns costs no more than 200.
  static constexpr int64_t half_bytes = vector_bytes > 16 ? vector_bytes / 2 : vector_bytes;
  static constexpr int64_t half = Lanes<T, half_bytes>::count;

  Tile<T> full[tile_rows], packing[tile_rows], one[tile_rows], narrow[tile_rows];

  template <int rows>
  constexpr void fill() {
    full[rows - 1] = tile<T, rows, tile_vectors, vector_bytes, false>;
    packing[rows - 1] = tile<T, rows, tile_vectors, vector_bytes, true>;
    one[rows - 1] = tile<T, rows, 1, vector_bytes, false>;
    narrow[rows - 1] = tile<T, rows, 1, half_bytes, false>;
    if constexpr (rows > 1) fill<rows - 1>();
  }
  constexpr TileTable() : full{}, packing{}, one{}, narrow{} { fill<tile_rows>(); }

  static constexpr int64_t width_for(int64_t columns) {
    return columns <= half ? half : columns <= lanes ? lanes : width;
  }
  Tile<T> tile_for(int64_t panel_width, int64_t rows) const {
    return (panel_width == width ? full : panel_width == lanes ? one : narrow)[rows - 1];
  }
};
template <class T>
constexpr TileTable<T> table;

}  // namespace
}  // namespace paddle
