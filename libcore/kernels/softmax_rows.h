// softmax of rows, the hot loop of softmax and of the loss that contains it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/map.h"
#include "kernels/math.h"
#include "kernels/reducing.h"
#include "kernels/strided.h"

namespace paddle {

namespace detail {

// Rows are taken in groups that stay in the first cache, so that exp runs over one long array
// however short the rows are.
inline constexpr int64_t softmax_group = 4096;

// So many elements at a time, in as many lanes: loops of a known length become straight code.
inline constexpr int softmax_lanes = 64;

// A NaN wins, so that it is seen.
template <class T>
PS_INLINE T larger(T a, T b) {
  return static_cast<int>(b > a) | static_cast<int>(b != b) ? b : a;
}

template <class T>
PS_INLINE T row_top(const T* x, int64_t n) {
  T top = x[0];
  int64_t i = 0;
  if (n >= softmax_lanes) {
    T lane[softmax_lanes];
    for (int k = 0; k < softmax_lanes; ++k) lane[k] = x[k];
    for (i = softmax_lanes; i + softmax_lanes <= n; i += softmax_lanes)
      for (int k = 0; k < softmax_lanes; ++k) lane[k] = larger(lane[k], x[i + k]);
    for (int width = softmax_lanes / 2; width > 0; width /= 2)
      for (int k = 0; k < width; ++k) lane[k] = larger(lane[k], lane[k + width]);
    top = lane[0];
  }
  for (; i < n; ++i) top = larger(top, x[i]);
  return top;
}

// out = exp(x - top); returns the sum.
template <class T>
PS_INLINE T exp_row(const T* x, int64_t n, T top, T* out) {
  T lane[softmax_lanes] = {};
  int64_t i = 0;
  for (; i + softmax_lanes <= n; i += softmax_lanes)
    for (int k = 0; k < softmax_lanes; ++k) {
      const T e = paddle::exp_falling(x[i + k] - top);
      out[i + k] = e;
      lane[k] += e;
    }
  for (int k = 0; i < n; ++i, ++k) lane[k] += out[i] = paddle::exp_falling(x[i] - top);
  for (int width = softmax_lanes / 2; width > 0; width /= 2)
    for (int k = 0; k < width; ++k) lane[k] += lane[k + width];
  return lane[0];
}

// out = exp(x - max), sums[r] = the row's sum, tops[r] = its largest element. out may be x.
template <class T>
PS_CLONES void exp_rows(int64_t rows, int64_t n, const T* x, T* out, T* tops, T* sums) {
  for (int64_t r = 0; r < rows; ++r) tops[r] = row_top(x + r * n, n);
  if (n >= 2 * softmax_lanes) {
    for (int64_t r = 0; r < rows; ++r) sums[r] = exp_row(x + r * n, n, tops[r], out + r * n);
    return;
  }
  for (int64_t r = 0; r < rows; ++r) {
    PS_IVDEP
    for (int64_t i = r * n; i < (r + 1) * n; ++i) out[i] = x[i] - tops[r];
  }
  PS_IVDEP
  for (int64_t i = 0; i < rows * n; ++i) out[i] = paddle::exp_falling(out[i]);
  for (int64_t r = 0; r < rows; ++r) sums[r] = reducing::reduce_row<reducing::Sum>(out + r * n, n);
}

template <class T>
PS_CLONES void scale_rows(int64_t rows, int64_t n, const T* sums, T* out) {
  for (int64_t r = 0; r < rows; ++r) {
    const T scale = 1 / sums[r];
    PS_IVDEP
    for (int64_t i = r * n; i < (r + 1) * n; ++i) out[i] *= scale;
  }
}

template <class T>
PS_CLONES T dot_row(const T* a, const T* b, int64_t n) {
  constexpr int lanes = reducing::lanes;
  T sum = 0;
  int64_t i = 0;
  if (n >= 2 * lanes) {
    T lane[lanes] = {};
    for (; i + lanes <= n; i += lanes)
      for (int k = 0; k < lanes; ++k) lane[k] += a[i + k] * b[i + k];
    for (int k = 0; k < lanes; ++k) sum += lane[k];
  }
  for (; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

// dx = y * (dy - <y, dy>); dx may be dy or y.
template <class T>
PS_CLONES void softmax_grad_row(int64_t n, T dot, const T* y, const T* dy, T* dx) {
  PS_IVDEP
  for (int64_t i = 0; i < n; ++i) dx[i] = y[i] * (dy[i] - dot);
}

}  // namespace detail

// Calls f(first_row, rows) for groups of rows of n elements, in parallel.
template <class F>
void for_row_groups(const Device& device, int64_t rows, int64_t n, const F& f) {
  const int64_t group =
      std::clamp<int64_t>(detail::softmax_group / std::max<int64_t>(n, 1), 1, 256);
  const int64_t grain = std::max<int64_t>(1, detail::softmax_group / (n + 1));
  device.pool().parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; r += group) f(r, std::min(group, end - r));
  });
}

// out = softmax of each row of x [rows, n]; out may be x. `before(r)` is called for each row while
// x is still whole, `after(r, top, sum)` once the row's log-sum-exp, top + log(sum), is known.
template <class T, class Before, class After>
void softmax_rows(const Device& device, int64_t rows, int64_t n, const T* x, T* out,
                  const Before& before, const After& after) {
  for_row_groups(device, rows, n, [&](int64_t first, int64_t count) {
    T tops[256], sums[256];
    for (int64_t r = 0; r < count; ++r) before(first + r);
    detail::exp_rows(count, n, x + first * n, out + first * n, tops, sums);
    detail::scale_rows(count, n, sums, out + first * n);
    for (int64_t r = 0; r < count; ++r) after(first + r, tops[r], sums[r]);
  });
}

template <class T>
void softmax_rows(const Device& device, int64_t rows, int64_t n, const T* x, T* out) {
  softmax_rows(
      device, rows, n, x, out, [](int64_t) {}, [](int64_t, T, T) {});
}

}  // namespace paddle
