// Compiled once per instruction set, with PS_TILE_* saying which. Everything here but the table at
// the end is local to the file and no inline function of another header is used: the linker must
// never take one version's code for another's.
#include "kernels/gemm_packed.h"
#include "kernels/simd.h"

namespace paddle {
namespace {

// The result is computed in tiles of `tile_rows` by `tile_vectors` vectors; with the operands they
// fill the registers.
constexpr int64_t vector_bytes = PS_TILE_BYTES;
constexpr int64_t tile_rows = PS_TILE_ROWS;
constexpr int64_t tile_vectors = 2;

// Blocks of op(b) of block_k x block_n are packed and stay in L2 (L3 for large ones), a tile's
// columns of them in L1; block_m rows of op(a) stay in L2.
constexpr int64_t block_k = 400, block_m = 144, block_n = 512;

template <class T>
struct Simd : Lanes<T, vector_bytes> {
  static constexpr int64_t lanes = Lanes<T, vector_bytes>::count;
  static constexpr int64_t width = lanes * tile_vectors;
};
template <class T>
using Vector = typename Simd<T>::Vector;
template <class T>
using Loose = typename Simd<T>::Loose;

static_assert(sizeof(double) * (block_k * (block_n / 2) + block_k * block_m) <=
              packed_scratch_bytes);

template <class T>
inline int64_t at_most(T a, T b) {
  return a < b ? a : b;
}

// What a tile reads and writes. Element (r, p) of op(a) is a[r * a_row + p * a_col]; one of the two
// strides is 1.
template <class T>
struct TileJob {
  const T* a;
  int64_t a_row, a_col;
  const T* b;
  int64_t b_row;
  int64_t k;
  T alpha, beta;
  T* c;
  int64_t ldc, columns;
};

// c = alpha * values + beta * c on part of a tile's row.
template <class T>
void put_part(T alpha, T beta, int64_t columns, const T* values, T* c) {
  for (int64_t j = 0; j < columns; ++j)
    c[j] = beta == 0 ? alpha * values[j] : alpha * values[j] + beta * c[j];
}

// The arrays of vectors below become registers, because all their indices are constants once loops
// are unrolled.
template <class T, int rows, int vectors, bool a_rows>
void tile(const TileJob<T>& job) {
  constexpr int64_t lanes = Simd<T>::lanes;
  Vector<T> acc[rows][vectors] = {};
  const T* a[a_rows ? rows : 1];
#pragma GCC unroll 16
  for (int r = 0; r < (a_rows ? rows : 1); ++r) a[r] = job.a + r * job.a_row;
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) __builtin_prefetch(job.c + r * job.ldc, 1);
  const T* b = job.b;
  const int64_t k = job.k, a_col = job.a_col, b_row = job.b_row;
  for (int64_t p = 0; p < k; ++p) {
    Vector<T> bv[vectors];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) bv[v] = *reinterpret_cast<const Loose<T>*>(b + v * lanes);
    b += b_row;
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      const T ar = a_rows ? a[a_rows ? r : 0][p] : a[0][r];
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) acc[r][v] += ar * bv[v];
    }
    if (!a_rows) a[0] += a_col;
  }
  // Copies, because a store to c could change `job` for all the compiler knows.
  const T alpha = job.alpha, beta = job.beta;
  const int64_t ldc = job.ldc, columns = job.columns;
  T* c = job.c;
  if (columns == vectors * lanes) {
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r, c += ldc) {
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) {
        Loose<T>* to = reinterpret_cast<Loose<T>*>(c + v * lanes);
        *to = beta == 0 ? acc[r][v] * alpha : acc[r][v] * alpha + *to * beta;
      }
    }
    return;
  }
  T values[rows][vectors * lanes];
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v)
      *reinterpret_cast<Loose<T>*>(&values[r][v * lanes]) = acc[r][v];
  for (int r = 0; r < rows; ++r, c += ldc) put_part(alpha, beta, columns, values[r], c);
}

template <class T>
using Tile = void (*)(const TileJob<T>&);

// tiles[a_rows][vectors - 1][rows - 1]
template <class T>
struct TileTable {
  Tile<T> tiles[2][tile_vectors][tile_rows];

  template <int rows>
  constexpr void fill() {
    tiles[0][0][rows - 1] = tile<T, rows, 1, false>;
    tiles[0][1][rows - 1] = tile<T, rows, 2, false>;
    tiles[1][0][rows - 1] = tile<T, rows, 1, true>;
    tiles[1][1][rows - 1] = tile<T, rows, 2, true>;
    if constexpr (rows > 1) fill<rows - 1>();
  }
  constexpr TileTable() : tiles{} { fill<tile_rows>(); }
};
template <class T>
constexpr TileTable<T> table;

// Rows of op(b) become rows of a panel `width` wide, filled up with zeros.
template <class T>
void pack_rows(const T* from, int64_t stride, int64_t k, int64_t columns, int64_t width, T* to) {
  if (columns == Simd<T>::width) {
    for (int64_t p = 0; p < k; ++p)
#pragma GCC unroll 2
      for (int v = 0; v < tile_vectors; ++v)
        *reinterpret_cast<Loose<T>*>(to + p * width + v * Simd<T>::lanes) =
            *reinterpret_cast<const Loose<T>*>(from + p * stride + v * Simd<T>::lanes);
    return;
  }
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

void pack_transposed(const float* from, int64_t stride, int64_t k, int64_t columns, int64_t width,
                     float* to) {
  const int64_t even_k = k / 8 * 8, even_columns = columns / 8 * 8;
  for (int64_t j = 0; j < even_columns; j += 8)
    for (int64_t p = 0; p < even_k; p += 8)
      transpose8(from + j * stride + p, stride, to + p * width + j, width);
  pack_transposed_plain(from + even_columns * stride, stride, even_k, columns - even_columns, width,
                        to + even_columns);
  pack_transposed_plain(from + even_k, stride, k - even_k, columns, width, to + even_k * width);
}

void pack_transposed(const double* from, int64_t stride, int64_t k, int64_t columns, int64_t width,
                     double* to) {
  pack_transposed_plain(from, stride, k, columns, width, to);
}

// One block of the product: rows [i0, i0 + m), columns [j0, j0 + n), terms [p0, p0 + k).
struct Block {
  int64_t i0, m, j0, n, p0, k;
};

// Columns [j, j + columns) of the block's op(b), filled up with zeros to `width`.
template <class T>
void pack_b(const Product<T>& p, const Block& block, int64_t j, int64_t columns, int64_t width,
            T* to) {
  if (!p.trans_b) {
    pack_rows(p.b + block.p0 * p.ldb + block.j0 + j, p.ldb, block.k, columns, width, to);
    return;
  }
  if (columns < width) {
    for (int64_t q = 0; q < block.k; ++q)
      for (int64_t c = columns; c < width; ++c) to[q * width + c] = 0;
  }
  pack_transposed(p.b + (block.j0 + j) * p.ldb + block.p0, p.ldb, block.k, columns, width, to);
}

// Packed panels of op(a): [panel][term][row].
template <class T>
void pack_a(const Product<T>& p, const Block& block, T* to) {
  for (int64_t i = 0; i < block.m; i += tile_rows) {
    const int64_t rows = at_most(tile_rows, block.m - i);
    const T* from =
        p.trans_a ? p.a + block.p0 * p.lda + block.i0 + i : p.a + (block.i0 + i) * p.lda + block.p0;
    if (!p.trans_a) {
      pack_transposed_plain(from, p.lda, block.k, rows, rows, to);
    } else if (rows == tile_rows) {
      for (int64_t q = 0; q < block.k; ++q)
        __builtin_memcpy(to + q * tile_rows, from + q * p.lda, sizeof(T) * tile_rows);
    } else {
      for (int64_t q = 0; q < block.k; ++q)
        for (int64_t r = 0; r < rows; ++r) to[q * rows + r] = from[q * p.lda + r];
    }
    to += block.k * rows;
  }
}

// Rows of a are read where they are, but for strides that put all rows of a tile into one set of
// the L1 cache. Columns (trans_a) are packed where enough columns of the result share the work.
template <class T>
bool wants_packed_a(const Product<T>& p) {
  if (p.n <= Simd<T>::width) return false;
  return p.trans_a || p.lda * static_cast<int64_t>(sizeof(T)) % 4096 == 0;
}

// All tiles of a block. A panel of op(b) is packed just before its first use, while it is in L1;
// where no further block of rows follows, the next panel takes its place.
template <class T>
void tiles(const Product<T>& p, const Block& block, const T* packed_a, T* packed_b, T beta) {
  TileJob<T> job{};
  job.k = block.k;
  job.alpha = p.alpha;
  job.beta = beta;
  job.ldc = p.ldc;
  const bool a_rows = packed_a == nullptr && !p.trans_a;
  const bool keep = p.m > block_m;
  for (int64_t j = 0; j < block.n; j += Simd<T>::width) {
    job.columns = at_most(Simd<T>::width, block.n - j);
    const int vectors = job.columns <= Simd<T>::lanes ? 1 : 2;
    job.b_row = vectors * Simd<T>::lanes;
    T* panel = keep ? packed_b + j * block.k : packed_b;
    if (block.i0 == 0) pack_b(p, block, j, job.columns, job.b_row, panel);
    job.b = panel;
    for (int64_t i = 0; i < block.m; i += tile_rows) {
      const int64_t rows = at_most(tile_rows, block.m - i);
      if (packed_a != nullptr) {
        job.a = packed_a + i * block.k;
        job.a_row = 1;
        job.a_col = rows;
      } else {
        job.a_row = p.trans_a ? 1 : p.lda;
        job.a_col = p.trans_a ? p.lda : 1;
        job.a = p.a + (block.i0 + i) * job.a_row + block.p0 * job.a_col;
      }
      job.c = p.c + (block.i0 + i) * p.ldc + block.j0 + j;
      table<T>.tiles[a_rows][vectors - 1][rows - 1](job);
    }
  }
}

template <class T>
void multiply(const Product<T>& p, void* scratch) {
  constexpr int64_t wide = block_n * sizeof(float) / sizeof(T);
  T* packed_b = static_cast<T*>(scratch);
  T* packed_a = wants_packed_a(p) ? packed_b + block_k * wide : nullptr;
  const int64_t k_blocks = (p.k + block_k - 1) / block_k, k = (p.k + k_blocks - 1) / k_blocks;
  Block block{};
  for (block.j0 = 0; block.j0 < p.n; block.j0 += wide) {
    block.n = at_most(wide, p.n - block.j0);
    for (block.p0 = 0; block.p0 < p.k; block.p0 += k) {
      block.k = at_most(k, p.k - block.p0);
      for (block.i0 = 0; block.i0 < p.m; block.i0 += block_m) {
        block.m = at_most(block_m, p.m - block.i0);
        if (packed_a != nullptr) pack_a(p, block, packed_a);
        tiles(p, block, packed_a, packed_b, block.p0 == 0 ? p.beta : T(1));
      }
    }
  }
}

}  // namespace

extern const PackedGemm PS_TILE_NAME{PS_TILE_ISA, multiply<float>, multiply<double>};

}  // namespace paddle
