// Two arrays of which the second, y, may be a run of the first one's dimensions, repeated over the
// others: the rule, and loops that follow it.
#pragma once

#include "kernels/map.h"
#include "kernels/reduce.h"
#include "ops/common.h"

namespace paddle {

// x is [pre, n, post], y is [n].
struct Extents {
  int64_t pre = 1, n = 1, post = 1;
  bool same() const { return pre == 1 && post == 1; }
  int64_t numel() const { return pre * n * post; }
};

// Y's shape is that of a run of X's dimensions which starts at `axis`. Trailing ones of Y are
// dropped; with axis -1, Y is aligned at X's end before they are.
Extents extents(const Shape& x, const Shape& y, int axis);

// Fails unless Y can be broadcast to X by the op's attribute `axis` and both have one type.
void check_broadcast(const Infer& i);

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
void for_tiles(ThreadPool& pool, const Extents& e, const void* body,
               void (*call)(const void* body, const Tile& tile));

// out = f(y, x...), with y repeated as `e` says. `out` may be one of x.
template <class F, class Out, class T, class... X>
void broadcast(ThreadPool& pool, const Extents& e, const F& f, Out* out, const T* y,
               const X*... x) {
  const auto body = [&](const Tile& tile) {
    run_loop<worth_clones<Out, T, X...>>(BroadcastLoop{}, tile, f, out, y, x...);
  };
  for_tiles(pool, e, &body, [](const void* given, const Tile& tile) {
    (*static_cast<const decltype(body)*>(given))(tile);
  });
}

// out[j] = the sum of x[i, j, k] over i and k. `partial` holds pre * n elements where both are
// summed over.
template <class T>
void sum_to_y(ThreadPool& pool, const Extents& e, const T* x, T* partial, T* out) {
  if (e.post == 1) return column_sums(pool, e.pre, e.n, x, out, false);
  if (e.pre == 1) return row_sums(pool, e.n, e.post, x, out);
  row_sums(pool, e.pre * e.n, e.post, x, partial);
  column_sums(pool, e.pre, e.n, partial, out, false);
}

}  // namespace paddle
