// kernels/pool2d.h on a GPU. In the gradient, whose windows may overlap, one thread takes a plane.
#include <limits>

#include "kernels/cuda/memory.h"
#include "kernels/pool_window.h"

namespace paddle {
namespace {

struct PoolAt {
  Windows g;
  bool is_max;
  template <class T>
  PS_HD void operator()(int64_t i, const T* x, T* y) const {
    const int64_t plane = i / (g.out_h * g.out_w);
    const Window v(g, i / g.out_w % g.out_h, i % g.out_w);
    const T* from = x + plane * g.height * g.width;
    T value = is_max ? -std::numeric_limits<T>::infinity() : T(0);
    for (int64_t h = v.top; h < v.bottom; ++h)
      for (int64_t w = v.left; w < v.right; ++w) {
        const T e = from[h * g.width + w];
        value = is_max ? larger_of(value, e) : value + e;
      }
    // ceil_mode can put a last window on padding alone: that gives 0, not minus infinity.
    y[i] = v.empty() ? T(0) : is_max ? value : value / static_cast<T>(v.divisor);
  }
};

struct UnpoolPlane {
  Windows g;
  bool is_max;
  template <class T>
  PS_HD void operator()(int64_t plane, const T* x, const T* y, const T* dy, T* dx) const {
    const T* from = x + plane * g.height * g.width;
    T* to = dx + plane * g.height * g.width;
    int64_t at = plane * g.out_h * g.out_w;
    for (int64_t oh = 0; oh < g.out_h; ++oh)
      for (int64_t ow = 0; ow < g.out_w; ++ow, ++at) {
        const Window v(g, oh, ow);
        if (is_max) {
          route_max(g, v, from, y[at], dy[at], to);
          continue;
        }
        const T share = dy[at] / static_cast<T>(v.divisor);
        for (int64_t h = v.top; h < v.bottom; ++h)
          for (int64_t w = v.left; w < v.right; ++w) to[h * g.width + w] += share;
      }
  }
};

}  // namespace

template <class T>
void pool2d(const Device& device, const Windows& g, bool is_max, int64_t planes, const T* x, T* y) {
  cuda::launch(device, planes * g.out_h * g.out_w, PoolAt{g, is_max}, x, y);
}

template <class T>
void pool2d_grad(const Device& device, const Windows& g, bool is_max, int64_t planes, const T* x,
                 const T* y, const T* dy, T* dx) {
  fill(device, planes * g.height * g.width, dx, T(0));
  cuda::launch(device, planes, UnpoolPlane{g, is_max}, x, y, dy, dx);
}

template void pool2d(const Device&, const Windows&, bool, int64_t, const float*, float*);
template void pool2d(const Device&, const Windows&, bool, int64_t, const double*, double*);
template void pool2d_grad(const Device&, const Windows&, bool, int64_t, const float*, const float*,
                          const float*, float*);
template void pool2d_grad(const Device&, const Windows&, bool, int64_t, const double*,
                          const double*, const double*, double*);

}  // namespace paddle
