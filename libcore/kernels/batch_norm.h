// batch_norm: every channel brought to mean 0 and variance 1 over the batch. For float and double.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tensor/device.h"
#include "tensor/shape.h"

namespace paddle {

// X as [outer, channels, inner]; NHWC and matrices have inner 1.
struct Planes {
  Planes(const Shape& x, bool channels_last) {
    const int at = channels_last ? x.rank() - 1 : 1;
    outer = x.product(0, at);
    channels = x[at];
    inner = x.product(at + 1, x.rank());
  }
  int64_t count() const { return outer * inner; }
  int64_t grain() const { return std::max<int64_t>(1, 16384 / std::max<int64_t>(1, count())); }
  int64_t outer, channels, inner;
};

// Arrays of one element per channel unless said otherwise; those that may be null are.
template <class T>
struct BatchNorm {
  const T *x, *scale, *bias, *mean, *variance;              // x: all elements
  T* y;                                                     // all elements
  T *mean_out, *variance_out, *saved_mean, *saved_inverse;  // may be null
  float momentum, epsilon;
  bool global;  // use the given mean and variance, and leave them as they are
  bool relu;
};
template <class T>
void batch_norm(const Device& device, Scratch& scratch, const Planes& p, const BatchNorm<T>& n);

template <class T>
struct BatchNormGrad {
  const T *x, *dy, *scale, *saved_mean, *saved_inverse;
  T *dx, *dscale, *dbias;  // may be null
  bool global;
};
template <class T>
void batch_norm_grad(const Device& device, Scratch& scratch, const Planes& p,
                     const BatchNormGrad<T>& n);

}  // namespace paddle
