// The losses of one row or column of classes, as the CPU and a GPU compute them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "kernels/math.h"
#include "kernels/simd.h"

namespace paddle {

// An infinity would end the training; Fluid puts this in its place.
template <class T>
PS_HD T tolerable(T x) {
  constexpr T limit = T(1e20);
  return x > limit ? limit : x < -limit ? -limit : x;
}

// -dy / p without the infinity of p = 0.
template <class T>
PS_HD T over(T dy, T p) {
  return dy == 0 ? T(0) : tolerable(-dy / p);
}

// One column of the general case: n elements, `step` apart.
template <class T>
struct Column {
  const T* at;
  int64_t n, step;
  PS_HD T operator[](int64_t k) const { return at[k * step]; }
  PS_HD T sum() const {
    T s = 0;
    for (int64_t k = 0; k < n; ++k) s += (*this)[k];
    return s;
  }
  PS_HD T dot(const Column& o) const {
    T s = 0;  // a class without weight adds nothing, even where its logit is infinite
    for (int64_t k = 0; k < n; ++k) s += o[k] == 0 ? T(0) : (*this)[k] * o[k];
    return s;
  }
};

// The softmax of one column in place or beside; returns its largest element and the sum below it.
template <class T>
PS_HD std::pair<T, T> softmax_column(const Column<T>& x, T* out) {
  T top = x[0], sum = 0;
  for (int64_t k = 1; k < x.n; ++k) top = std::max(top, x[k]);
  for (int64_t k = 0; k < x.n; ++k) sum += out[k * x.step] = paddle::exp(x[k] - top);
  for (int64_t k = 0; k < x.n; ++k) out[k * x.step] /= sum;
  return {top, sum};
}

}  // namespace paddle
