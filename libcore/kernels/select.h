// Elements found by size, and marked by index.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/map.h"
#include "kernels/strided.h"
#include "tensor/device.h"

namespace paddle {
namespace detail {

// A NaN comes first, so that it is seen.
template <class T>
PS_HD bool before(T a, T b) {
  return a > b || (a != a && b == b);
}

// The k largest of a row in falling order, the lower index first where they are equal: each element
// is sifted into those found so far.
template <class T>
PS_HD void top_of_row(const T* x, int64_t n, int64_t k, T* values, int64_t* indices) {
  int64_t found = 0;
  for (int64_t j = 0; j < n; ++j) {
    if (found == k && !before(x[j], values[k - 1])) continue;
    int64_t at = found < k ? found++ : k - 1;
    for (; at > 0 && before(x[j], values[at - 1]); --at) {
      values[at] = values[at - 1];
      indices[at] = indices[at - 1];
    }
    values[at] = x[j];
    indices[at] = j;
  }
}

}  // namespace detail

}  // namespace paddle

#ifndef PS_GPU

namespace paddle {

// out[k, :] = 0 but 1 at ids[k]; `depth` elements each. Returns the first k with an id outside of
// [0, depth), whose row is all 0, or -1.
template <class Id, class T>
int64_t one_hot(const Device&, int64_t n, int64_t depth, const Id* ids, T* out) {
  std::fill_n(out, n * depth, T(0));
  int64_t bad = -1;
  for (int64_t k = 0; k < n; ++k) {
    if (ids[k] >= 0 && ids[k] < depth)
      out[k * depth + ids[k]] = T(1);
    else if (bad < 0)
      bad = k;
  }
  return bad;
}

// out[c] = where the largest, or smallest, element of column c is; the first of equal ones.
template <bool largest, class T>
void arg_extreme(const Device& device, const Around& a, const T* x, int64_t* out) {
  device.pool().parallel_for(a.columns(), map_grain / (a.n + 1) + 1, [=](int64_t b, int64_t e) {
    for (int64_t c = b; c < e; ++c) {
      const T* column = x + a.first(c);
      int64_t best = 0;
      for (int64_t k = 1; k < a.n; ++k) {
        const T found = column[k * a.inner], so_far = column[best * a.inner];
        if (largest ? found > so_far : found < so_far) best = k;
      }
      out[c] = best;
    }
  });
}

// The k largest of each row of x [rows, n], and where they are.
template <class T>
void top_k(const Device& device, int64_t rows, int64_t n, int64_t k, const T* x, T* values,
           int64_t* indices) {
  device.pool().parallel_for(rows, map_grain / (n + 1) + 1, [=](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      detail::top_of_row(x + row * n, n, k, values + row * k, indices + row * k);
  });
}

// dx [rows, n] is 0 but at the indices, which lie in [0, n).
template <class T>
void top_k_grad(const Device&, int64_t rows, int64_t n, int64_t k, const int64_t* indices,
                const T* dy, T* dx) {
  std::fill_n(dx, rows * n, T(0));
  for (int64_t i = 0; i < rows * k; ++i) dx[i / k * n + indices[i]] = dy[i];
}

}  // namespace paddle

#endif

#ifdef PS_GPU
#include "kernels/cuda/select.h"
#endif
