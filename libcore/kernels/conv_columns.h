// The patches of images as columns of a matrix, and back: what turns a convolution into a matrix
// product.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/conv.h"
#include "kernels/simd.h"

namespace paddle {

// The output columns [begin, end) whose input column for kernel column j lies inside the image.
struct Inside {
  Inside(const ConvSizes& g, int64_t j) : shift(j * g.dilation_w - g.pad_w) {
    begin = shift >= 0 ? 0 : std::min(g.out_w, (-shift + g.stride_w - 1) / g.stride_w);
    const int64_t limit = g.width - shift;  // the first place outside
    end = limit <= 0 ? begin : std::clamp((limit + g.stride_w - 1) / g.stride_w, begin, g.out_w);
  }
  int64_t shift, begin, end;
};

// One row of columns: what kernel element (i, j) of a channel meets at every place of one image.
template <class T>
PS_INLINE void gather_row(const ConvSizes& g, const T* channel, int64_t i, const Inside& in,
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
PS_INLINE void scatter_row(const ConvSizes& g, const T* row, int64_t i, const Inside& in,
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
PS_CLONES void to_columns(const ConvSizes& g, const T* x, int64_t image_step, int64_t count,
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
PS_CLONES void from_columns(const ConvSizes& g, const T* columns, int64_t stride, int64_t count,
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
void join_images(const ConvSizes& g, const T* y, int64_t image_step, int64_t count, T* joined) {
  for (int64_t f = 0; f < g.filters; ++f)
    for (int64_t n = 0; n < count; ++n, joined += g.places())
      std::copy_n(y + n * image_step + f * g.places(), g.places(), joined);
}
template <class T>
void part_images(const ConvSizes& g, const T* joined, int64_t count, T* y, int64_t image_step) {
  for (int64_t f = 0; f < g.filters; ++f)
    for (int64_t n = 0; n < count; ++n, joined += g.places())
      std::copy_n(joined, g.places(), y + n * image_step + f * g.places());
}

}  // namespace paddle
