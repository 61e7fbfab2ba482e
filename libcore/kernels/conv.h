// conv2d over NCHW images. For float and double.
#pragma once

#include <cstdint>

#include "kernels/simd.h"
#include "tensor/device.h"

namespace paddle {

// All lengths of one convolution.
struct ConvSizes {
  PS_HD int64_t in_size() const { return channels * height * width; }  // of one group of one image
  PS_HD int64_t places() const { return out_h * out_w; }
  PS_HD int64_t depth() const { return channels * kernel_h * kernel_w; }
  PS_HD int64_t out_size() const { return filters * places(); }
  // Columns are the input itself.
  bool pointwise() const {
    return kernel_h == 1 && kernel_w == 1 && stride_h == 1 && stride_w == 1 && pad_h == 0 &&
           pad_w == 0;
  }

  int64_t images, groups, channels, height, width;  // channels and filters are of one group
  int64_t filters, kernel_h, kernel_w, out_h, out_w;
  int64_t stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
};

// y [images, groups * filters, out_h, out_w] from x [images, groups * channels, height, width] and
// w [groups * filters, channels, kernel_h, kernel_w].
template <class T>
void conv2d(const Device& device, Scratch& scratch, const ConvSizes& g, const T* x, const T* w,
            T* y);
template <class T>
void conv2d_input_grad(const Device& device, Scratch& scratch, const ConvSizes& g, const T* w,
                       const T* dy, T* dx);
template <class T>
void conv2d_filter_grad(const Device& device, Scratch& scratch, const ConvSizes& g, const T* x,
                        const T* dy, T* dw);

}  // namespace paddle
