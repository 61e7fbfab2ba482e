// Gradients of several trainers become one, and other loops of a shard over whole slices. One
// thread runs them, part by part while the numbers are in its cache.
#pragma once

#include <cstdint>
#include <span>

namespace paddle::optim {

// out[i] = ((a[i] + b[i]) + …) * factor, in this order for every element, as the ops `sum` and
// `scale` compute it. a, b, … are n elements of T from `first` on in each of the arrays, which are
// two or more; `out` is none of them.
template <class T>
void merge(std::span<const void* const> arrays, int64_t first, int64_t n, T factor, T* out);

// value[i] += delta[i]
template <class T>
void add(const T* delta, int64_t n, T* value);

// Whether there is neither NaN nor Inf.
template <class T>
bool all_finite(const T* values, int64_t n);

}  // namespace paddle::optim
