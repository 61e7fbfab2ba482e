// layer_norm: every row brought to mean 0 and variance 1. For float and double.
#pragma once

#include <cstdint>

#include "tensor/device.h"

namespace paddle {

// x and y are [rows, n]; scale and bias [n], mean and variance [rows], each of them may be null.
template <class T>
void layer_norm(const Device& device, int64_t rows, int64_t n, double epsilon, const T* x,
                const T* scale, const T* bias, T* y, T* mean, T* variance);

// scale, dx, dscale and dbias may be null.
template <class T>
void layer_norm_grad(const Device& device, Scratch& scratch, int64_t rows, int64_t n,
                     double epsilon, const T* x, const T* dy, const T* scale, const T* mean,
                     const T* variance, T* dx, T* dscale, T* dbias);

}  // namespace paddle
