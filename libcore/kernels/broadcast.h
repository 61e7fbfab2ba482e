// map() with one array, y, that may be a run of the dimensions of the others, repeated over the
// rest.
#pragma once

#include "kernels/map.h"
#include "kernels/reduce.h"

namespace paddle {

// x is [pre, n, post], y is [n].
struct Extents {
  int64_t pre = 1, n = 1, post = 1;
  bool same() const { return pre == 1 && post == 1; }
  int64_t numel() const { return pre * n * post; }
};

// One number beside n elements.
inline Extents one_for_all(int64_t n) { return {1, 1, n}; }

#ifndef PS_GPU

// A part of x as rows of `width` elements: rows [top, bottom), of each the elements [left, right).
// y runs along with every row (a bias), or a row has one y, that of its number modulo `period`.
struct Tile {
  int64_t top, bottom, left, right, width, period;
  bool along;
};

struct BroadcastLoop {
  template <class F, class Out, class T, class... X>
  PS_INLINE void operator()(const Tile& tile, const F& given, Out* out, const T* y,
                            const X*... x) const {
    const F f = given;
    const int64_t left = tile.left, right = tile.right, bottom = tile.bottom;
    for (int64_t i = tile.top; i < bottom; ++i) {
      const int64_t at = i * tile.width;
      if (tile.along) {
        PS_IVDEP
        for (int64_t j = left; j < right; ++j) out[at + j] = f(y[j], x[at + j]...);
      } else {
        const T yi = y[i % tile.period];
        PS_IVDEP
        for (int64_t j = left; j < right; ++j) out[at + j] = f(yi, x[at + j]...);
      }
    }
  }
};

// Calls `call` on tiles that cover x, split over the pool.
void for_tiles(const Device& device, const Extents& e, const void* body,
               void (*call)(const void* body, const Tile& tile));

// out = f(y, x...), with y repeated as `e` says. `out` may be one of x.
template <class F, class Out, class T, class... X>
void broadcast(const Device& device, const Extents& e, const F& f, Out* out, const T* y,
               const X*... x) {
  const auto body = [&](const Tile& tile) {
    run_loop<worth_clones<Out, T, X...>>(BroadcastLoop{}, tile, f, out, y, x...);
  };
  for_tiles(device, e, &body, [](const void* given, const Tile& tile) {
    (*static_cast<const decltype(body)*>(given))(tile);
  });
}

#endif

// out[j] = the sum of x[i, j, k] over i and k. `partial` holds pre * n elements where both are
// summed over.
template <class T>
void sum_to_y(const Device& device, const Extents& e, const T* x, T* partial, T* out) {
  if (e.post == 1) return column_sums(device, e.pre, e.n, x, out, false);
  if (e.pre == 1) return row_sums(device, e.n, e.post, x, out);
  row_sums(device, e.pre * e.n, e.post, x, partial);
  column_sums(device, e.pre, e.n, partial, out, false);
}

}  // namespace paddle

#ifdef PS_GPU
#include "kernels/cuda/broadcast.h"
#endif
