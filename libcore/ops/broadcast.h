// Two arrays of which the second, y, may be a run of the first one's dimensions, repeated over the
// others: the rule, and loops that follow it.
#pragma once

#include <algorithm>

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

// out[i, j] = f(x[i, j]..., y[j]) for rows [begin, end): y is a bias.
struct BroadcastRows {
  template <class F, class Out, class T, class... X>
  PS_INLINE void operator()(int64_t begin, int64_t end, int64_t n, const F& given, Out* out,
                            const T* y, const X*... x) const {
    const F f = given;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t at = i * n;
      PS_IVDEP
      for (int64_t j = 0; j < n; ++j) out[at + j] = f(y[j], x[at + j]...);
    }
  }
};

// Rows of `post` elements that share one y each.
struct BroadcastScalars {
  template <class F, class Out, class T, class... X>
  PS_INLINE void operator()(int64_t begin, int64_t end, const Extents& e, const F& given, Out* out,
                            const T* y, const X*... x) const {
    const F f = given;
    for (int64_t i = begin; i < end; ++i) {
      const T yi = y[i % e.n];
      const int64_t at = i * e.post;
      PS_IVDEP
      for (int64_t j = 0; j < e.post; ++j) out[at + j] = f(yi, x[at + j]...);
    }
  }
};

// out = f(y, x...), with y repeated as `e` says. `out` may be one of x.
template <class F, class Out, class T, class... X>
void broadcast(ThreadPool& pool, const Extents& e, const F& f, Out* out, const T* y,
               const X*... x) {
  constexpr bool clones = worth_clones<Out, T, X...>;
  if (e.same()) return map(pool, e.n, f, out, y, x...);
  if (e.post == 1 && e.n > 1) {
    const int64_t grain = std::max<int64_t>(1, map_grain / e.n);
    return pool.parallel_for(e.pre, grain, [&](int64_t begin, int64_t end) {
      run_loop<clones>(BroadcastRows{}, begin, end, e.n, f, out, y, x...);
    });
  }
  // A single y is one long row rather than many of one element.
  const Extents flat = e.n == 1 ? Extents{1, 1, e.numel()} : e;
  if (flat.pre * flat.n == 1)
    return pool.parallel_for(flat.post, map_grain, [&](int64_t begin, int64_t end) {
      run_loop<clones>(BroadcastScalars{}, int64_t{0}, int64_t{1}, Extents{1, 1, end - begin}, f,
                       out + begin, y, (x + begin)...);
    });
  pool.parallel_for(flat.pre * flat.n,
                    std::max<int64_t>(1, map_grain / std::max<int64_t>(1, flat.post)),
                    [&](int64_t begin, int64_t end) {
                      run_loop<clones>(BroadcastScalars{}, begin, end, flat, f, out, y, x...);
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
