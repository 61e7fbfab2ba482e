// One tile of a matrix product: so many rows by so many vectors of the result that it stays in
// registers over all terms. Included by gemm_tiles.cc alone, once per instruction set: everything
// is local to the file.
#pragma once

#include <cstdint>

#include "kernels/gemm_lanes.h"

namespace paddle {
namespace {

constexpr int64_t tile_rows = PS_TILE_ROWS;
constexpr int64_t tile_vectors = 2;
// With so few terms, calls and waits for memory would take as long as the multiplication.
constexpr int64_t few_terms = 64;
// With fewer, a tile is ready before what it would fetch has come.
constexpr int64_t fetching_terms = 16;

// What a later tile reads, fetched into L2 by this one: a line per term, `step` apart. A tile that
// packs fetches the line behind it too.
template <class T>
struct Ahead {
  const T* at;
  int64_t step;
};

// What a tile reads and writes. Element (r, p) of op(a) is a[r * a_row + p * a_col]; row p of op(b)
// is at b + p * b_row. A tile that packs copies it to `packed`, without gaps. With several panels,
// the tile does the same for each of them: they lie b_panel apart, and their columns of c side by
// side.
template <class T>
struct TileJob {
  const T* a;
  int64_t a_row, a_col;
  const T* b;
  int64_t b_row;
  int64_t panels, b_panel;
  T* packed;
  const T* start;  // what the sums of a row start from: as many as the tile has columns
  int64_t start_panel;
  int64_t k;
  T alpha, beta;
  T* c;
  int64_t ldc, columns;  // of the tile's columns, as many are in c
  Ahead<T> ahead;
};

// What a tile does beside multiplying, and for what: one panel that it packs on its way or that is
// packed, several panels of few terms, or columns that it reads where they are, which may be fewer
// than its own and end where op(b) ends.
enum class Way { packing, packed, panels, there };

// How a vector of sums becomes part of c. What is rounded on the way must be the same in every
// tile, whole or not, so the compiler gets no choice: it cannot share a product between these,
// which would keep it from being fused with the sum, and of two products it can fuse the first
// only.
struct Set {
  template <class Vector, class T>
  PS_INLINE void operator()(const Vector& sum, Vector& c, T, T) const {
    c = sum;
  }
};
struct Scale {
  template <class Vector, class T>
  PS_INLINE void operator()(const Vector& sum, Vector& c, T alpha, T) const {
    c = sum * alpha;
  }
};
struct Add {
  template <class Vector, class T>
  PS_INLINE void operator()(const Vector& sum, Vector& c, T alpha, T) const {
    c += sum * alpha;
  }
};
struct Blend {
  template <class Vector, class T>
  PS_INLINE void operator()(const Vector& sum, Vector& c, T alpha, T beta) const {
    Vector old = c * beta;
    asm("" : "+m"(old));
    c = sum * alpha + old;
  }
};

template <class Put, class T, int bytes, int rows, int vectors, class Acc>
PS_INLINE void put_whole(const Acc& acc, T alpha, T beta, T* c, int64_t ldc) {
  constexpr int lanes = Lanes<T, bytes>::count;
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r, c += ldc)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) {
      typename Lanes<T, bytes>::Vector old = load<bytes>(c + v * lanes);
      Put{}(acc[r][v], old, alpha, beta);
      store<bytes>(c + v * lanes, old);
    }
}

// As many columns of c as there are; the tile reaches beyond them. All is loaded before anything is
// stored: a load waits for a store that could reach into it, even if its mask says it does not.
template <class Put, class T, int bytes, int rows, int vectors, class Acc>
PS_INLINE void put_part(const Acc& acc, T alpha, T beta, T* c, int64_t ldc, int64_t columns) {
  constexpr int lanes = Lanes<T, bytes>::count;
  typename Lanes<T, bytes>::Vector old[rows][vectors];
#pragma GCC unroll 2
  for (int v = 0; v < vectors; ++v) {
    const Some<T, bytes> some(columns - v * lanes);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      old[r][v] = some.load(c + r * ldc + v * lanes);
      Put{}(acc[r][v], old[r][v], alpha, beta);
    }
  }
#pragma GCC unroll 2
  for (int v = 0; v < vectors; ++v) {
    const Some<T, bytes> some(columns - v * lanes);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) some.store(c + r * ldc + v * lanes, old[r][v]);
  }
}

template <class Put, Way way, class T, int bytes, int rows, int vectors, class Acc>
PS_INLINE void put(const Acc& acc, const TileJob<T>& job, T* c) {
  T alpha = job.alpha;
  // What a tile packs itself, and several panels, are as wide as the tile.
  if (way == Way::packing || way == Way::panels ||
      job.columns == vectors * Lanes<T, bytes>::count) {
    asm volatile("" : "+m"(alpha));  // from here on a number of its own
    put_whole<Put, T, bytes, rows, vectors>(acc, alpha, job.beta, c, job.ldc);
  } else {
    asm volatile("" : "+m"(alpha));
    put_part<Put, T, bytes, rows, vectors>(acc, alpha, job.beta, c, job.ldc, job.columns);
  }
}

template <Way way, class T, int bytes, int rows, int vectors, class Acc>
PS_INLINE void put_as_asked(const Acc& acc, const TileJob<T>& job, T* c) {
  if (job.beta == 1)
    put<Add, way, T, bytes, rows, vectors>(acc, job, c);
  else if (job.beta != 0)
    put<Blend, way, T, bytes, rows, vectors>(acc, job, c);
  else if (job.alpha == 1)
    put<Set, way, T, bytes, rows, vectors>(acc, job, c);
  else
    put<Scale, way, T, bytes, rows, vectors>(acc, job, c);
}

// What the tile will write comes while it multiplies. With few terms there is no time for the rest
// of a line's neighbours to come by themselves.
template <class T, int rows, int vectors>
PS_INLINE void prefetch_result(const TileJob<T>& job, const T* c) {
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) __builtin_prefetch(c + r * job.ldc + job.columns - 1, 1);
  if (vectors == 1 || job.k > few_terms) return;
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) __builtin_prefetch(c + r * job.ldc + job.columns / 2 - 1, 1);
}

// The arrays of vectors become registers, because all their indices are constants once loops are
// unrolled; and there are just enough registers, if the loop keeps nothing else in them. Hence the
// empty assembly. In the loop it hides that pointers to the rows of a are so far apart: the
// compiler would make one for each row. After it, it hides that the job is as it was: what comes
// then would lie in registers all the time.
template <class T, int rows, int vectors, int bytes, Way way>
PS_INLINE void tile_panel(const TileJob<T>& job, int64_t panel) {
  using Vector = typename Lanes<T, bytes>::Vector;
  constexpr int64_t lanes = Lanes<T, bytes>::count;
  constexpr int groups = (rows + 2) / 3;  // three rows of a share a pointer
  T* c = job.c + panel * vectors * lanes;
  if (job.k >= fetching_terms) prefetch_result<T, rows, vectors>(job, c);
  Vector acc[rows][vectors];
#pragma GCC unroll 2
  for (int v = 0; v < vectors; ++v) {
    const Vector start = load<bytes>(job.start + panel * job.start_panel + v * lanes);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) acc[r][v] = start;
  }
  const int64_t a_row = job.a_row, a_col = job.a_col, b_row = job.b_row, step = job.ahead.step;
  const T* a[groups];
#pragma GCC unroll 16
  for (int g = 0; g < groups; ++g) a[g] = job.a + 3 * g * a_row;
  const T* b = job.b + panel * job.b_panel;
  const T* ahead = job.ahead.at;
  T* packed = job.packed;
  const Some<T, bytes> last(job.columns - (vectors - 1) * lanes);
  const auto term = [&]() __attribute__((always_inline)) {
    Vector bv[vectors];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v)
      bv[v] = way == Way::there && v == vectors - 1 ? Vector(last.load(b + v * lanes))
                                                    : load<bytes>(b + v * lanes);
    b += b_row;
    if constexpr (way != Way::there) __builtin_prefetch(ahead, 0, 2);
    if constexpr (way == Way::packing) __builtin_prefetch(ahead + 64 / sizeof(T), 0, 2);
    ahead += step;
    if constexpr (way == Way::packing) {
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) store<bytes>(packed + v * lanes, bv[v]);
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
  };
  if constexpr (way == Way::panels) {
    for (int64_t p = job.k; p > 0; --p) term();
  } else {
#pragma GCC unroll 2
    for (int64_t p = job.k; p > 0; --p) term();
  }
  asm volatile("" : : : "memory");
  put_as_asked<way, T, bytes, rows, vectors>(acc, job, c);
}

template <class T, int rows, int vectors, int bytes, Way way>
void tile(const TileJob<T>& job) {
  const int64_t panels = way == Way::panels ? job.panels : 1;
  for (int64_t panel = 0; panel < panels; ++panel)
    tile_panel<T, rows, vectors, bytes, way>(job, panel);
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

  Tile<T> full[tile_rows], packing[tile_rows], panels[tile_rows], one[tile_rows], narrow[tile_rows];
  Tile<T> there[tile_rows], one_there[tile_rows];

  template <int rows>
  constexpr void fill() {
    full[rows - 1] = tile<T, rows, tile_vectors, vector_bytes, Way::packed>;
    packing[rows - 1] = tile<T, rows, tile_vectors, vector_bytes, Way::packing>;
    panels[rows - 1] = tile<T, rows, tile_vectors, vector_bytes, Way::panels>;
    one[rows - 1] = tile<T, rows, 1, vector_bytes, Way::packed>;
    narrow[rows - 1] = tile<T, rows, 1, half_bytes, Way::packed>;
    there[rows - 1] = tile<T, rows, tile_vectors, vector_bytes, Way::there>;
    one_there[rows - 1] = tile<T, rows, 1, vector_bytes, Way::there>;
    if constexpr (rows > 1) fill<rows - 1>();
  }
  constexpr TileTable() : full{}, packing{}, panels{}, one{}, narrow{}, there{}, one_there{} {
    fill<tile_rows>();
  }

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
