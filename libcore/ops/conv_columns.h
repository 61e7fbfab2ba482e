// The patches of images as columns of a matrix, and back: what turns a convolution into a matrix
// product.
#pragma once

#include <algorithm>
#include <cstdint>

#include "graph/attr.h"
#include "kernels/simd.h"
#include "tensor/shape.h"

namespace paddle {

// Attributes, without shapes.
struct ConvAttrs {
  explicit ConvAttrs(const Attrs& attrs)
      : strides(attrs.get<Ints>("strides")),
        paddings(attrs.get<Ints>("paddings")),
        dilations(attrs.get<Ints>("dilations")),
        groups(attrs.get<int32_t>("groups")) {}
  Ints strides, paddings, dilations;
  int64_t groups;
};

// All lengths of one convolution.
struct Geometry {
  Geometry(const ConvAttrs& a, const Shape& x, const Shape& w, const Shape& y)
      : images(x[0]),
        groups(a.groups),
        channels(w[1]),
        height(x[2]),
        width(x[3]),
        filters(w[0] / a.groups),
        kernel_h(w[2]),
        kernel_w(w[3]),
        out_h(y[2]),
        out_w(y[3]),
        stride_h(a.strides[0]),
        stride_w(a.strides[1]),
        pad_h(a.paddings[0]),
        pad_w(a.paddings[1]),
        dilation_h(a.dilations[0]),
        dilation_w(a.dilations[1]) {}

  int64_t in_size() const { return channels * height * width; }  // of one group of one image
  int64_t places() const { return out_h * out_w; }
  int64_t depth() const { return channels * kernel_h * kernel_w; }
  int64_t out_size() const { return filters * places(); }
  // Columns are the input itself.
  bool pointwise() const {
    return kernel_h == 1 && kernel_w == 1 && stride_h == 1 && stride_w == 1 && pad_h == 0 &&
           pad_w == 0;
  }

  int64_t images, groups, channels, height, width;  // channels and filters are of one group
  int64_t filters, kernel_h, kernel_w, out_h, out_w;
  int64_t stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
};

// The output columns [begin, end) whose input column for kernel column j lies inside the image.
struct Inside {
  Inside(const Geometry& g, int64_t j) : shift(j * g.dilation_w - g.pad_w) {
    begin = shift >= 0 ? 0 : std::min(g.out_w, (-shift + g.stride_w - 1) / g.stride_w);
    const int64_t limit = g.width - shift;  // the first place outside
    end = limit <= 0 ? begin : std::clamp((limit + g.stride_w - 1) / g.stride_w, begin, g.out_w);
  }
  int64_t shift, begin, end;
};

// One row of columns: what kernel element (i, j) of a channel meets at every place of one image.
template <class T>
PS_INLINE void gather_row(const Geometry& g, const T* channel, int64_t i, const Inside& in,
                          T* row) {
  for (int64_t oh = 0; oh < g.out_h; ++oh, row += g.out_w) {
    const int64_t h = oh * g.stride_h - g.pad_h + i * g.dilation_h;
    if (h < 0 || h >= g.height) {
      for (int64_t k = 0; k < g.out_w; ++k) row[k] = 0;
      continue;
    }
    const T* from = channel + h * g.width + in.shift;
    for (int64_t k = 0; k < in.begin; ++k) row[k] = 0;
    if (g.stride_w == 1)
      for (int64_t k = in.begin; k < in.end; ++k) row[k] = from[k];
    else
      for (int64_t k = in.begin; k < in.end; ++k) row[k] = from[k * g.stride_w];
    for (int64_t k = in.end; k < g.out_w; ++k) row[k] = 0;
  }
}

template <class T>
PS_INLINE void scatter_row(const Geometry& g, const T* row, int64_t i, const Inside& in,
                           T* channel) {
  for (int64_t oh = 0; oh < g.out_h; ++oh, row += g.out_w) {
    const int64_t h = oh * g.stride_h - g.pad_h + i * g.dilation_h;
    if (h < 0 || h >= g.height) continue;
    T* to = channel + h * g.width + in.shift;
    if (g.stride_w == 1)
      for (int64_t k = in.begin; k < in.end; ++k) to[k] += row[k];
    else
      for (int64_t k = in.begin; k < in.end; ++k) to[k * g.stride_w] += row[k];
  }
}

// columns [depth, stride]: image n of the chunk starts at column n * places. `image_step` is the
// distance of images.
template <class T>
PS_CLONES void to_columns(const Geometry& g, const T* x, int64_t image_step, int64_t count,
                          T* columns, int64_t stride) {
  for (int64_t c = 0; c < g.channels; ++c)
    for (int64_t i = 0; i < g.kernel_h; ++i)
      for (int64_t j = 0; j < g.kernel_w; ++j, columns += stride) {
        const Inside in(g, j);
        for (int64_t n = 0; n < count; ++n)
          gather_row(g, x + n * image_step + c * g.height * g.width, i, in,
                     columns + n * g.places());
      }
}

// The reverse: every column value is added to where it came from.
template <class T>
PS_CLONES void from_columns(const Geometry& g, const T* columns, int64_t stride, int64_t count,
                            T* x, int64_t image_step) {
  for (int64_t c = 0; c < g.channels; ++c)
    for (int64_t i = 0; i < g.kernel_h; ++i)
      for (int64_t j = 0; j < g.kernel_w; ++j, columns += stride) {
        const Inside in(g, j);
        for (int64_t n = 0; n < count; ++n)
          scatter_row(g, columns + n * g.places(), i, in,
                      x + n * image_step + c * g.height * g.width);
      }
}

// [count][filters][places] with distance `image_step` between images, to and from
// [filters][count * places].
template <class T>
void join_images(const Geometry& g, const T* y, int64_t image_step, int64_t count, T* joined) {
  for (int64_t f = 0; f < g.filters; ++f)
    for (int64_t n = 0; n < count; ++n, joined += g.places())
      std::copy_n(y + n * image_step + f * g.places(), g.places(), joined);
}
template <class T>
void part_images(const Geometry& g, const T* joined, int64_t count, T* y, int64_t image_step) {
  for (int64_t f = 0; f < g.filters; ++f)
    for (int64_t n = 0; n < count; ++n, joined += g.places())
      std::copy_n(joined, g.places(), y + n * image_step + f * g.places());
}

}  // namespace paddle
