// Sums that vectorise without leave to reorder arithmetic at large.
#pragma once

#include <cstdint>

#include "kernels/simd.h"

namespace paddle {

// The sum of f(0) ... f(n - 1) in independent lanes, which vectorise.
template <class T, class F>
PS_INLINE double lane_sum(int64_t n, const F& f) {
  constexpr int lanes = 16;
  T sums[lanes] = {};
  int64_t k = 0;
  for (; k + lanes <= n; k += lanes)
    for (int l = 0; l < lanes; ++l) sums[l] += f(k + l);
  double total = 0;
  for (; k < n; ++k) total += static_cast<double>(f(k));
  for (int l = 0; l < lanes; ++l) total += static_cast<double>(sums[l]);
  return total;
}

}  // namespace paddle
