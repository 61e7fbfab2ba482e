// Gradients of several trainers become one, and other loops of a shard over whole slices. One
// thread runs them, part by part while the numbers are in its cache.
#pragma once

#include <cstdint>
#include <span>

namespace paddle::optim {

// out[i] = ((parts[0][i] + parts[1][i]) + …) * factor, in this order for every element, as the ops
// `sum` and `scale` compute it. At least two parts; `out` is none of them.
template <class T>
void merge(std::span<const T* const> parts, int64_t n, T factor, T* out);

// value[i] += delta[i]
template <class T>
void add(const T* delta, int64_t n, T* value);

// Whether there is neither NaN nor Inf.
template <class T>
bool all_finite(const T* values, int64_t n);

}  // namespace paddle::optim
