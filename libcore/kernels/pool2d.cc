#include "kernels/pool2d.h"

#include <algorithm>
#include <limits>

#include "kernels/pool_window.h"
#include "kernels/simd.h"

namespace paddle {
namespace {

template <bool is_max, class T>
PS_CLONES void halve(const Windows& g, const T* x, T* y) {
  for (int64_t oh = 0; oh < g.out_h; ++oh, y += g.out_w) {
    const T *a = x + 2 * oh * g.width, *b = a + g.width;
    for (int64_t k = 0; k < g.out_w; ++k) {
      if constexpr (is_max)
        y[k] = larger_of(larger_of(a[2 * k], a[2 * k + 1]), larger_of(b[2 * k], b[2 * k + 1]));
      else
        y[k] = (a[2 * k] + a[2 * k + 1] + b[2 * k] + b[2 * k + 1]) * T(0.25);
    }
  }
}

template <bool is_max, class T>
void pool_image(const Windows& g, const T* x, T* y) {
  if (g.halving()) return halve<is_max>(g, x, y);
  for (int64_t oh = 0; oh < g.out_h; ++oh)
    for (int64_t ow = 0; ow < g.out_w; ++ow, ++y) {
      const Window v(g, oh, ow);
      T value = is_max ? -std::numeric_limits<T>::infinity() : T(0);
      for (int64_t h = v.top; h < v.bottom; ++h)
        for (int64_t w = v.left; w < v.right; ++w) {
          const T e = x[h * g.width + w];
          value = is_max ? larger_of(value, e) : value + e;
        }
      // ceil_mode can put a last window on padding alone: that gives 0, not minus infinity.
      *y = v.empty() ? T(0) : is_max ? value : value / static_cast<T>(v.divisor);
    }
}

// Of 2x2 windows exactly the first maximum takes the gradient; without branches.
template <class T>
PS_CLONES void unhalve_max(const Windows& g, const T* x, const T* y, const T* dy, T* dx) {
  for (int64_t oh = 0; oh < g.out_h; ++oh, y += g.out_w, dy += g.out_w) {
    const int64_t row = 2 * oh * g.width;
    const T *a = x + row, *b = a + g.width;
    T *da = dx + row, *db = da + g.width;
    for (int64_t k = 0; k < g.out_w; ++k) {
      const T top = y[k], d = dy[k];
      const bool m0 = a[2 * k] == top, m1 = a[2 * k + 1] == top, m2 = b[2 * k] == top,
                 m3 = b[2 * k + 1] == top;
      da[2 * k] = m0 ? d : T(0);
      da[2 * k + 1] = (m1 & !m0) ? d : T(0);
      db[2 * k] = (m2 & !(m0 | m1)) ? d : T(0);
      db[2 * k + 1] = (m3 & !(m0 | m1 | m2)) ? d : T(0);
    }
  }
}

template <bool is_max, class T>
void unpool_image(const Windows& g, const T* x, const T* y, const T* dy, T* dx) {
  std::fill_n(dx, g.height * g.width, T(0));
  if (is_max && g.halving()) return unhalve_max(g, x, y, dy, dx);
  for (int64_t oh = 0; oh < g.out_h; ++oh)
    for (int64_t ow = 0; ow < g.out_w; ++ow, ++y, ++dy) {
      const Window v(g, oh, ow);
      if constexpr (is_max) {
        route_max(g, v, x, *y, *dy, dx);
      } else {
        const T share = *dy / static_cast<T>(v.divisor);
        for (int64_t h = v.top; h < v.bottom; ++h)
          for (int64_t w = v.left; w < v.right; ++w) dx[h * g.width + w] += share;
      }
    }
}

int64_t planes_grain(const Windows& g) {
  return std::max<int64_t>(1, 16384 / std::max<int64_t>(1, g.height * g.width));
}

}  // namespace

template <class T>
void pool2d(const Device& device, const Windows& g, bool is_max, int64_t planes, const T* x, T* y) {
  device.pool().parallel_for(planes, planes_grain(g), [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      const T* from = x + k * g.height * g.width;
      T* to = y + k * g.out_h * g.out_w;
      is_max ? pool_image<true>(g, from, to) : pool_image<false>(g, from, to);
    }
  });
}

template <class T>
void pool2d_grad(const Device& device, const Windows& g, bool is_max, int64_t planes, const T* x,
                 const T* y, const T* dy, T* dx) {
  device.pool().parallel_for(planes, planes_grain(g), [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      const int64_t in = k * g.height * g.width, out = k * g.out_h * g.out_w;
      const auto run = is_max ? unpool_image<true, T> : unpool_image<false, T>;
      run(g, x + in, y + out, dy + out, dx + in);
    }
  });
}

template void pool2d(const Device&, const Windows&, bool, int64_t, const float*, float*);
template void pool2d(const Device&, const Windows&, bool, int64_t, const double*, double*);
template void pool2d_grad(const Device&, const Windows&, bool, int64_t, const float*, const float*,
                          const float*, float*);
template void pool2d_grad(const Device&, const Windows&, bool, int64_t, const double*,
                          const double*, const double*, double*);

}  // namespace paddle
