// Gradients of several trainers become one, and other loops of a shard over whole slices. One
// thread runs them, part by part while the numbers are in its cache.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

namespace paddle::optim {

// out[i] = sum[i] * factor, as the op `scale` computes it; `out` may be `sum`. With add() for every
// gradient but the first this gives the bits of the ops `sum` and `scale`.
template <class T>
void scale(const T* sum, int64_t n, T factor, T* out);

// value[i] += delta[i]
template <class T>
void add(const T* delta, int64_t n, T* value);

// The largest absolute value; Inf where there is an Inf or a NaN.
template <class T>
T largest(const T* values, int64_t n);

// Whether there is neither NaN nor Inf.
template <class T>
bool all_finite(const T* values, int64_t n) {
  return largest(values, n) <= std::numeric_limits<T>::max();
}

}  // namespace paddle::optim
