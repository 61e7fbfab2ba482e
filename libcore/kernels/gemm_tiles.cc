// Compiled once per instruction set, with PS_TILE_* saying which. Everything here but the table at
// the end is local to the file and no inline function of another header is used: the linker must
// never take one version's code for another's.
#include "kernels/gemm_pack.h"
#include "kernels/gemm_packed.h"
#include "kernels/gemm_tile.h"
#include "kernels/gemm_vector_loops.h"

namespace paddle {
namespace {

// So many terms are summed up in registers before they go to c: the same for every shape, as
// results must not depend on how a product is divided.
constexpr int64_t block_k = 400;
// Up to so many rows, a panel of op(b) is packed, used by all of them and forgotten. With more
// rows, so many bytes of panels are packed and stay in L2 while the rows pass by: tile by tile
// where a tile has work enough for what it takes out of L2, else in blocks that use a panel while
// it is in L1.
constexpr int64_t few_rows = 144;
constexpr int64_t rows_at_once = vector_bytes >= 64 ? 1 : few_rows / tile_rows;
constexpr int64_t kept_bytes = 512 << 10;
// Space for the panels, of which one may begin before these bytes are full; the rest is for copies
// of rows.
constexpr int64_t panel_bytes = kept_bytes + block_k * tile_vectors * vector_bytes;
constexpr int64_t copy_bytes = packed_scratch_bytes - panel_bytes;
static_assert(few_rows * block_k * static_cast<int64_t>(sizeof(double)) <= copy_bytes);

inline int64_t at_most(int64_t a, int64_t b) { return a < b ? a : b; }

// Terms [p0, p0 + k) of columns [j0, j0 + n) of a product.
template <class T>
struct Part {
  const Product<T>& p;
  int64_t p0, k, j0, n;
  T beta;
  T* packed;
  T* copies;      // of op(a), tile by tile, or null: tiles read it where it is
  bool all_rows;  // `copies` holds all rows, else those of the tiles that share a panel
  bool copied;    // they are there already
  // Rows are divided evenly: a tile of few rows takes longer than its share.
  int64_t tiles = (p.m + tile_rows - 1) / tile_rows;
  int64_t low = tiles == 1 ? p.m : p.m / tiles, more = p.m - low * tiles;

  static constexpr int64_t width = TileTable<T>::width;
  static constexpr int64_t line = 64 / sizeof(T);

  int64_t first_row(int64_t t) const { return low * t + at_most(t, more); }
  int64_t rows(int64_t t) const { return low + (t < more ? 1 : 0); }
  int64_t a_row() const { return p.trans_a ? 1 : p.lda; }
  int64_t a_col() const { return p.trans_a ? p.lda : 1; }
  const T* a(int64_t t) const { return p.a + first_row(t) * a_row() + p0 * a_col(); }
  const T* b(int64_t j) const {
    return p.trans_b ? p.b + (j0 + j) * p.ldb + p0 : p.b + p0 * p.ldb + j0 + j;
  }

  // Packs the panel at column j where no tile can do it on its way.
  void pack(int64_t j, int64_t columns, int64_t panel_width, T* to) const {
    using Table = TileTable<T>;
    if (!p.trans_b)
      return (panel_width == width ? pack_rows<vector_bytes, tile_vectors, T>
              : panel_width == Table::lanes
                  ? pack_rows<vector_bytes, 1, T>
                  : pack_rows<Table::half_bytes, 1, T>)(b(j), p.ldb, k, columns, to);
    for (int64_t q = 0; columns < panel_width && q < k; ++q)
      for (int64_t c = columns; c < panel_width; ++c) to[q * panel_width + c] = 0;
    pack_transposed(b(j), p.ldb, k, columns, panel_width, to);
  }

  void copy_a(int64_t t, T* to) const {
    const T* from = a(t);
    const int64_t count = rows(t), row = a_row(), col = a_col();
    int64_t q = 0;
    // A copy of known size is fast, and what is too much of it is written over by the next one; the
    // last must not read beyond op(a).
    if (p.trans_a && 2 * count >= tile_rows)
      for (; q < k - 1; ++q)
        __builtin_memcpy(to + q * count, from + q * col, sizeof(T) * tile_rows);
    if constexpr (sizeof(T) == sizeof(float))
      if (!p.trans_a && count >= 8)
        for (; q + 8 <= k; q += 8) transpose_rows(from + q, row, count, to + q * count);
    for (; q < k; ++q)
      for (int64_t r = 0; r < count; ++r) to[q * count + r] = from[r * row + q * col];
  }

  // Tile t in `copies`; t0 is the first of those that share a panel.
  T* copy(int64_t t, int64_t t0) const {
    return copies == nullptr ? nullptr
                             : copies + (first_row(t) - (all_rows ? 0 : first_row(t0))) * k;
  }

  // What the sums of the panel at column j start from. `buffer` is for what is not there in memory.
  const T* start(int64_t j, int64_t columns, T (&buffer)[width]) const {
    alignas(64) static constexpr T zeros[width] = {};
    if (p.finish.bias == nullptr || p0 != 0) return zeros;
    if (columns >= width) return p.finish.bias + j0 + j;
    for (int64_t c = 0; c < width; ++c) buffer[c] = c < columns ? p.finish.bias[j0 + j + c] : 0;
    return buffer;
  }

  // Tile t of the panel at column j, the first to use the panel or not; or of several whole panels
  // that were packed before.
  void run(int64_t t, const T* copy, int64_t j, T* panel, bool first, const Ahead<T>& ahead,
           int64_t panels = 1) const {
    const int64_t columns = at_most(width, n - j);
    const int64_t panel_width = TileTable<T>::width_for(columns);
    // A whole panel that only one tile reads is read where it is.
    const bool there = first && !p.trans_b && tiles == 1 && columns == panel_width;
    const bool packs = first && !p.trans_b && tiles > 1 && columns == width;
    if (first && !packs && !there) pack(j, columns, panel_width, panel);
    T buffer[width];
    const T* sums = start(j, columns, buffer);
    T* to = p.c + first_row(t) * p.ldc + j0 + j;
    const TileJob<T> job{.a = copy != nullptr ? copy : a(t),
                         .a_row = copy != nullptr ? 1 : a_row(),
                         .a_col = copy != nullptr ? rows(t) : a_col(),
                         .b = packs || there ? b(j) : panel,
                         .b_row = packs || there ? p.ldb : panel_width,
                         .panels = panels,
                         .b_panel = width * k,
                         .packed = panel,
                         .start = sums,
                         .start_panel = p.finish.bias == nullptr || p0 != 0 ? 0 : width,
                         .k = k,
                         .alpha = p.alpha,
                         .beta = beta,
                         .c = to,
                         .ldc = p.ldc,
                         .columns = columns,
                         .ahead = ahead};
    (packs        ? table<T>.packing[rows(t) - 1]
     : panels > 1 ? table<T>.panels[rows(t) - 1]
                  : table<T>.tile_for(panel_width, rows(t)))(job);
    if (p.finish.map != nullptr && p0 + k == p.k)
      p.finish.map(to, p.ldc, rows(t), panels == 1 ? columns : panels * width);
  }

  // What tile t of a panel fetches of the next panel, at column j: one line of each row.
  Ahead<T> next_panel(int64_t t, int64_t j) const {
    if (j >= n || p.trans_b || t > 2) return {p.c, 0};
    return {b(j) + t * line, p.ldb};
  }
  // What the tile at column j fetches of the rows of tile t, where they are.
  Ahead<T> next_rows(int64_t t, int64_t j) const {
    if (t >= tiles || j > width || (copied && j > 0)) return {p.c, 0};
    if (copied) return {copy(t, 0), line};
    if (p.trans_a) return {a(t) + (j == 0 ? 0 : rows(t) - 1), p.lda};
    return {a(t) + (j == 0 ? 0 : k * line), line};
  }

  Ahead<T> ahead(int64_t t, int64_t t1, int64_t j, bool alone) const {
    if (!alone) return next_panel(t, j + width);
    return t == 0 && !p.trans_b && j + width < n ? Ahead<T>{b(j + width), p.ldb} : next_rows(t1, j);
  }

  // All tiles: `at_once` row tiles use a panel before the next one comes. Panels are kept for the
  // rows that follow, or there are none.
  void run_all(int64_t at_once, bool keep) const {
    const bool together = at_once == 1 && keep && k <= few_terms && n >= width;
    for (int64_t j = 0; together && j + width <= n; j += width)
      pack(j, width, width, packed + j * k);
    for (int64_t t0 = 0; t0 < tiles; t0 += at_once) {
      const int64_t t1 = at_most(t0 + at_once, tiles);
      for (int64_t t = t0; copies != nullptr && !copied && t < t1; ++t) copy_a(t, copy(t, t0));
      int64_t j = 0;
      if (together) {
        j = n / width * width;
        run(t0, copy(t0, t0), 0, packed, false, {p.c, 0}, n / width);
      }
      for (; j < n; j += width)
        for (int64_t t = t0; t < t1; ++t)
          run(t, copy(t, t0), j, keep ? packed + j * k : packed, t == 0,
              ahead(t, t1, j, at_once == 1));
    }
  }
};

// Rows so far apart fall onto one place of the caches. Where op(a) is stored by columns, a tile of
// few rows reads a small part of every line, and with many terms what it reads does not stay in L1.
constexpr int64_t many_terms = 256;
template <class T>
bool wants_copies(const Product<T>& p) {
  const bool far = p.lda * static_cast<int64_t>(sizeof(T)) % 4096 == 0;
  const bool parts =
      tile_rows * sizeof(T) < 48 || (sizeof(T) == sizeof(float) && p.k >= many_terms);
  return p.n > TileTable<T>::width && (far || (p.trans_a && parts));
}

// A result that L2 cannot hold, of rows that it can: then a panel too is read once and forgotten.
template <class T>
bool streams_result(const Product<T>& p, int64_t k) {
  constexpr int64_t bytes = sizeof(T);
  return k > few_terms && p.m * k * bytes <= 128 << 10 && p.m * p.n * bytes > 1 << 20;
}

// One panel of few terms for few rows: to pack it, and to plan how, would take as long as the
// product. Its tiles read op(b) where it is.
template <class T>
bool is_small(const Product<T>& p) {
  return !p.trans_b && p.n <= TileTable<T>::width && p.k <= few_terms && p.m <= 4 * tile_rows;
}

template <class T>
void multiply_small(const Product<T>& p) {
  constexpr int64_t width = TileTable<T>::width;
  alignas(64) static constexpr T zeros[width] = {};
  T buffer[width];
  const T* start = p.finish.bias == nullptr ? zeros : p.finish.bias;
  if (p.finish.bias != nullptr && p.n < width) {
    for (int64_t c = 0; c < width; ++c) buffer[c] = c < p.n ? p.finish.bias[c] : 0;
    start = buffer;
  }
  const Tile<T>* tiles = p.n <= TileTable<T>::lanes ? table<T>.one_there : table<T>.there;
  const int64_t a_row = p.trans_a ? 1 : p.lda, a_col = p.trans_a ? p.lda : 1;
  for (int64_t first = 0; first < p.m; first += tile_rows) {
    const int64_t rows = at_most(tile_rows, p.m - first);
    T* to = p.c + first * p.ldc;
    tiles[rows - 1]({.a = p.a + first * a_row,
                     .a_row = a_row,
                     .a_col = a_col,
                     .b = p.b,
                     .b_row = p.ldb,
                     .panels = 1,
                     .b_panel = 0,
                     .packed = nullptr,
                     .start = start,
                     .start_panel = 0,
                     .k = p.k,
                     .alpha = p.alpha,
                     .beta = p.beta,
                     .c = to,
                     .ldc = p.ldc,
                     .columns = p.n,
                     .ahead = {p.c, 0}});
    if (p.finish.map != nullptr) p.finish.map(to, p.ldc, rows, p.n);
  }
}

template <class T>
void multiply(const Product<T>& p, void* scratch) {
  if (is_small(p)) return multiply_small(p);
  const int64_t k_blocks = (p.k + block_k - 1) / block_k;
  const int64_t k = k_blocks == 1 ? p.k : (p.k + k_blocks - 1) / k_blocks;
  // With few terms it counts for more that a row tile does all panels in one call.
  const bool by_rows =
      rows_at_once == 1 && k <= few_terms && p.m > tile_rows && p.n >= TileTable<T>::width;
  const bool few = (p.m <= few_rows && !by_rows) || streams_result(p, k);
  constexpr int64_t column_bytes = sizeof(T) * TileTable<T>::width;
  const int64_t wide = few ? p.n : (kept_bytes / (column_bytes * k) + 1) * TileTable<T>::width;
  T* packed = static_cast<T*>(scratch);
  T* copies = wants_copies(p) ? packed + panel_bytes / sizeof(T) : nullptr;
  // Copies of all rows, where there is space for them, serve all columns.
  const bool all_rows =
      copies != nullptr && p.n > wide && p.m * k * static_cast<int64_t>(sizeof(T)) <= copy_bytes;
  const auto multiply_part = [&](int64_t j0, int64_t p0) {
    const Part<T> part{.p = p,
                       .p0 = p0,
                       .k = at_most(k, p.k - p0),
                       .j0 = j0,
                       .n = at_most(wide, p.n - j0),
                       .beta = p0 == 0 ? p.beta : T(1),
                       .packed = packed,
                       .copies = copies,
                       .all_rows = all_rows,
                       .copied = all_rows && j0 > 0};
    part.run_all(few ? part.tiles : rows_at_once, !few);
  };
  if (all_rows) {
    for (int64_t p0 = 0; p0 < p.k; p0 += k)
      for (int64_t j0 = 0; j0 < p.n; j0 += wide) multiply_part(j0, p0);
  } else {
    for (int64_t j0 = 0; j0 < p.n; j0 += wide)
      for (int64_t p0 = 0; p0 < p.k; p0 += k) multiply_part(j0, p0);
  }
}

}  // namespace

extern const PackedGemm PS_TILE_NAME{PS_TILE_ISA, multiply<float>, multiply<double>,
                                     multiply_vectors<float>, multiply_vectors<double>};

}  // namespace paddle
