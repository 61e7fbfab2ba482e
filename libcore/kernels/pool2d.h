// pool2d: the maximum or the mean of windows of images. For float and double.
#pragma once

#include <cstdint>

#include "tensor/device.h"

namespace paddle {

// All lengths of one pooling.
struct Windows {
  // 2x2 windows side by side, all inside: the case worth code of its own.
  bool halving() const {
    return !adaptive && kernel_h == 2 && kernel_w == 2 && stride_h == 2 && stride_w == 2 &&
           pad_h == 0 && pad_w == 0 && out_h * 2 <= height && out_w * 2 <= width;
  }

  int64_t height, width, out_h, out_w;
  int64_t kernel_h, kernel_w, stride_h = 1, stride_w = 1, pad_h = 0, pad_w = 0;
  bool exclusive;         // a mean is of the elements inside of the image alone
  bool adaptive = false;  // windows divide the image evenly into out_h x out_w, and may overlap
};

// `planes` images of one channel, one after the other.
template <class T>
void pool2d(const Device& device, const Windows& g, bool is_max, int64_t planes, const T* x, T* y);
// x and y are read for maxima alone.
template <class T>
void pool2d_grad(const Device& device, const Windows& g, bool is_max, int64_t planes, const T* x,
                 const T* y, const T* dy, T* dx);

}  // namespace paddle
