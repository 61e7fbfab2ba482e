// One window of a pooling, as the CPU and a GPU see it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/pool2d.h"
#include "kernels/simd.h"

namespace paddle {

// Rows [top, bottom) and columns [left, right) of the input under one output element, and by what
// a mean divides.
struct Window {
  PS_HD Window(const Windows& g, int64_t oh, int64_t ow) {
    if (g.adaptive) {
      top = oh * g.height / g.out_h;
      left = ow * g.width / g.out_w;
      bottom = ((oh + 1) * g.height + g.out_h - 1) / g.out_h;
      right = ((ow + 1) * g.width + g.out_w - 1) / g.out_w;
    } else {
      const int64_t h = oh * g.stride_h - g.pad_h, w = ow * g.stride_w - g.pad_w;
      top = std::max<int64_t>(h, 0);
      left = std::max<int64_t>(w, 0);
      bottom = std::min(h + g.kernel_h, g.height);
      right = std::min(w + g.kernel_w, g.width);
    }
    // A mean that is not exclusive is over the whole window, also where ceil_mode lets it hang over
    // the padding.
    divisor = g.exclusive || g.adaptive ? (bottom - top) * (right - left) : g.kernel_h * g.kernel_w;
  }
  PS_HD bool empty() const { return top >= bottom || left >= right; }

  int64_t top, bottom, left, right, divisor;
};

template <class T>
PS_INLINE PS_HD T larger_of(T a, T b) {
  return a < b ? b : a;
}

// The first maximum takes the gradient.
template <class T>
PS_HD void route_max(const Windows& g, const Window& v, const T* x, T top, T d, T* dx) {
  for (int64_t h = v.top; h < v.bottom; ++h)
    for (int64_t w = v.left; w < v.right; ++w)
      if (x[h * g.width + w] == top) {
        dx[h * g.width + w] += d;
        return;
      }
}

}  // namespace paddle
