// kernels/conv.h on a GPU: patches of some images are laid out as columns, and one product serves
// them all. Every thread writes one element, so sums have one order.
#include "kernels/conv.h"

#include <algorithm>

#include "kernels/blas.h"
#include "kernels/cuda/memory.h"

namespace paddle {
namespace {

// columns [depth, count * places] of x, whose images are `step` apart.
struct ToColumnAt {
  ConvSizes g;
  int64_t count, step;
  template <class T>
  PS_HD void operator()(int64_t i, const T* x, T* columns) const {
    const int64_t n = count * g.places(), row = i / n, image = i % n / g.places();
    const int64_t place = i % g.places(), kernel = row % (g.kernel_h * g.kernel_w);
    const int64_t channel = row / (g.kernel_h * g.kernel_w);
    const int64_t h = place / g.out_w * g.stride_h - g.pad_h + kernel / g.kernel_w * g.dilation_h;
    const int64_t w = place % g.out_w * g.stride_w - g.pad_w + kernel % g.kernel_w * g.dilation_w;
    const bool inside = h >= 0 && h < g.height && w >= 0 && w < g.width;
    columns[i] = inside ? x[image * step + (channel * g.height + h) * g.width + w] : T(0);
  }
};

// The reverse: the sum of what the columns hold for one element of x.
struct FromColumnAt {
  ConvSizes g;
  int64_t count, step;
  template <class T>
  PS_HD void operator()(int64_t i, const T* columns, T* x) const {
    const int64_t image = i / g.in_size(), at = i % g.in_size();
    const int64_t channel = at / (g.height * g.width), h = at / g.width % g.height;
    const int64_t w = at % g.width, n = count * g.places();
    T sum = 0;
    for (int64_t kh = 0; kh < g.kernel_h; ++kh)
      for (int64_t kw = 0; kw < g.kernel_w; ++kw) {
        const int64_t y = h + g.pad_h - kh * g.dilation_h, z = w + g.pad_w - kw * g.dilation_w;
        if (y < 0 || z < 0 || y % g.stride_h != 0 || z % g.stride_w != 0) continue;
        const int64_t oh = y / g.stride_h, ow = z / g.stride_w;
        if (oh >= g.out_h || ow >= g.out_w) continue;
        const int64_t row = (channel * g.kernel_h + kh) * g.kernel_w + kw;
        sum += columns[row * n + image * g.places() + oh * g.out_w + ow];
      }
    x[image * step + at] = sum;
  }
};

// [count][filters][places], images `step` apart, to [filters][count * places] and back.
template <bool join>
struct JoinImagesAt {
  ConvSizes g;
  int64_t count, step;
  template <class From, class To>
  PS_HD void operator()(int64_t i, From* from, To* to) const {
    const int64_t n = count * g.places(), filter = i / n, image = i % n / g.places();
    const int64_t apart = image * step + filter * g.places() + i % g.places();
    to[join ? i : apart] = from[join ? apart : i];
  }
};

// As many images at a time as fit into a buffer of this size.
constexpr int64_t buffer_bytes = int64_t{64} << 20;

// body(columns, joined, first image, images, group)
template <class T, class Body>
void for_chunks(Scratch& scratch, const ConvSizes& g, const Body& body) {
  const int64_t each = (g.depth() + g.filters) * g.places();
  const int64_t most = buffer_bytes / static_cast<int64_t>(sizeof(T)) / std::max<int64_t>(1, each);
  const int64_t chunk = std::clamp<int64_t>(most, 1, std::max<int64_t>(1, g.images));
  T* columns = scratch.get<T>(chunk * each);
  T* joined = columns + chunk * g.depth() * g.places();
  for (int64_t first = 0; first < g.images; first += chunk)
    for (int64_t k = 0; k < g.groups; ++k)
      body(columns, joined, first, std::min(chunk, g.images - first), k);
}

}  // namespace

template <class T>
void conv2d(const Device& device, Scratch& scratch, const ConvSizes& g, const T* x, const T* w,
            T* y) {
  const int64_t x_step = g.groups * g.in_size(), y_step = g.groups * g.out_size();
  for_chunks<T>(scratch, g, [&](T* columns, T* joined, int64_t first, int64_t count, int64_t k) {
    const int64_t n = count * g.places();
    cuda::launch(device, g.depth() * n, ToColumnAt{g, count, x_step},
                 x + first * x_step + k * g.in_size(), columns);
    gemm(device, false, false, g.filters, n, g.depth(), T(1), w + k * g.filters * g.depth(),
         g.depth(), columns, n, T(0), joined, n);
    cuda::launch(device, g.filters * n, JoinImagesAt<false>{g, count, y_step}, joined,
                 y + first * y_step + k * g.out_size());
  });
}

template <class T>
void conv2d_input_grad(const Device& device, Scratch& scratch, const ConvSizes& g, const T* w,
                       const T* dy, T* dx) {
  const int64_t x_step = g.groups * g.in_size(), y_step = g.groups * g.out_size();
  for_chunks<T>(scratch, g, [&](T* columns, T* joined, int64_t first, int64_t count, int64_t k) {
    const int64_t n = count * g.places();
    cuda::launch(device, g.filters * n, JoinImagesAt<true>{g, count, y_step},
                 dy + first * y_step + k * g.out_size(), joined);
    gemm(device, true, false, g.depth(), n, g.filters, T(1), w + k * g.filters * g.depth(),
         g.depth(), static_cast<const T*>(joined), n, T(0), columns, n);
    cuda::launch(device, count * g.in_size(), FromColumnAt{g, count, x_step},
                 static_cast<const T*>(columns), dx + first * x_step + k * g.in_size());
  });
}

template <class T>
void conv2d_filter_grad(const Device& device, Scratch& scratch, const ConvSizes& g, const T* x,
                        const T* dy, T* dw) {
  const int64_t x_step = g.groups * g.in_size(), y_step = g.groups * g.out_size();
  const int64_t size = g.filters * g.depth();
  if (g.images == 0) fill(device, g.groups * size, dw, T(0));
  for_chunks<T>(scratch, g, [&](T* columns, T* joined, int64_t first, int64_t count, int64_t k) {
    const int64_t n = count * g.places();
    cuda::launch(device, g.filters * n, JoinImagesAt<true>{g, count, y_step},
                 dy + first * y_step + k * g.out_size(), joined);
    cuda::launch(device, g.depth() * n, ToColumnAt{g, count, x_step},
                 x + first * x_step + k * g.in_size(), columns);
    gemm(device, false, true, g.filters, g.depth(), n, T(1), static_cast<const T*>(joined), n,
         static_cast<const T*>(columns), n, T(first == 0 ? 0 : 1), dw + k * size, g.depth());
  });
}

#define PS_CONV(T)                                                                                \
  template void conv2d(const Device&, Scratch&, const ConvSizes&, const T*, const T*, T*);        \
  template void conv2d_input_grad(const Device&, Scratch&, const ConvSizes&, const T*, const T*,  \
                                  T*);                                                            \
  template void conv2d_filter_grad(const Device&, Scratch&, const ConvSizes&, const T*, const T*, \
                                   T*);
PS_CONV(float)
PS_CONV(double)
#undef PS_CONV

}  // namespace paddle
