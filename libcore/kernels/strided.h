// Loops over two arrays with strides of their own: the one form behind slices, transposes,
// concatenations and broadcasts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/map.h"
#include "tensor/device.h"
#include "tensor/shape.h"

namespace paddle {

// A nest of loops, outermost first; strides in elements, 0 where an array is repeated.
class Strided {
 public:
  // Twice the rank of a tensor: a repeated dimension is two loops.
  static constexpr int max_loops = 2 * Shape::max_rank;

  void add(int64_t length, int64_t stride_a, int64_t stride_b) {
    total_ *= length;
    if (length == 1) return;
    // A loop that goes on where the inner one ends is the same loop.
    if (rank_ > 0 && a_[rank_ - 1] == length * stride_a && b_[rank_ - 1] == length * stride_b) {
      dims_[rank_ - 1] *= length;
    } else {
      dims_[rank_++] = length;
    }
    a_[rank_ - 1] = stride_a;
    b_[rank_ - 1] = stride_b;
  }

  int64_t total() const { return total_; }

  // The two offsets of element i.
  PS_HD void locate(int64_t i, int64_t& a, int64_t& b) const {
    for (int d = rank_ - 1; d >= 0; --d) {
      a += i % dims_[d] * a_[d];
      b += i % dims_[d] * b_[d];
      i /= dims_[d];
    }
  }

#ifndef PS_GPU
  // Calls f(a, b, n, step_a, step_b) for runs of the innermost loop (n elements from the offsets a
  // and b), in parallel and together covering every element once.
  template <class F>
  void for_runs(const Device& device, const F& f) const {
    device.pool().parallel_for(total_, map_grain,
                               [&](int64_t begin, int64_t end) { runs(begin, end, f); });
  }

 private:
  template <class F>
  void runs(int64_t begin, int64_t end, const F& f) const {
    if (rank_ == 0) return f(int64_t{0}, int64_t{0}, int64_t{1}, int64_t{1}, int64_t{1});
    const int last = rank_ - 1;
    int64_t at[max_loops] = {}, a = 0, b = 0;
    for (int64_t d = last, rest = begin; d >= 0; --d) {
      at[d] = rest % dims_[d];
      rest /= dims_[d];
      a += at[d] * a_[d];
      b += at[d] * b_[d];
    }
    while (begin < end) {
      const int64_t n = std::min(dims_[last] - at[last], end - begin);
      f(a, b, n, a_[last], b_[last]);
      begin += n;
      a -= at[last] * a_[last];
      b -= at[last] * b_[last];
      at[last] = 0;
      for (int d = last - 1; d >= 0; --d) {
        a += a_[d];
        b += b_[d];
        if (++at[d] < dims_[d]) break;
        at[d] = 0;
        a -= dims_[d] * a_[d];
        b -= dims_[d] * b_[d];
      }
    }
  }

#else

 private:
#endif
  int rank_ = 0;
  int64_t total_ = 1;
#ifdef PS_GPU  // the emulated device looks for pointers in all of a functor
  int64_t dims_[max_loops] = {}, a_[max_loops] = {}, b_[max_loops] = {};
#else
  int64_t dims_[max_loops], a_[max_loops], b_[max_loops];
#endif
};

#ifndef PS_GPU

// f(a, b) for the two offsets of every element of the nest, in any order.
template <class F>
void strided_each(const Device& device, const Strided& nest, const F& f) {
  if (nest.total() == 0) return;
  nest.for_runs(device, [&](int64_t a, int64_t b, int64_t n, int64_t sa, int64_t sb) {
    const F g = f;  // a copy cannot alias what it writes
    if (sa == 1 && sb == 1)
      for (int64_t i = 0; i < n; ++i) g(a + i, b + i);
    else if (sa == 1)
      for (int64_t i = 0; i < n; ++i) g(a + i, b + i * sb);
    else
      for (int64_t i = 0; i < n; ++i) g(a + i * sa, b + i * sb);
  });
}

// to[a...] = from[b...] over the nest, for elements of type T.
template <class T>
void strided_copy_as(const Device& device, const Strided& nest, T* to, const T* from) {
  nest.for_runs(device, [=](int64_t a, int64_t b, int64_t n, int64_t sa, int64_t sb) {
    if (sa == 1 && sb == 1) {
      std::memcpy(to + a, from + b, static_cast<size_t>(n) * sizeof(T));
    } else {
      for (int64_t i = 0; i < n; ++i) to[a + i * sa] = from[b + i * sb];
    }
  });
}

#else
}  // namespace paddle
#include "kernels/cuda/strided.h"
namespace paddle {
#endif

// The same for elements of `size` bytes, whatever they are.
inline void strided_copy(const Device& device, const Strided& nest, size_t size, void* to,
                         const void* from) {
  const auto as = [&](auto t) {
    using T = decltype(t);
    strided_copy_as(device, nest, static_cast<T*>(to), static_cast<const T*>(from));
  };
  if (nest.total() == 0) return;
  switch (size) {
    case 1: return as(uint8_t{});
    case 2: return as(uint16_t{});
    case 4: return as(uint32_t{});
    default: return as(uint64_t{});
  }
}

// The place `elements` elements of `size` bytes further on.
inline const void* advance(const void* p, int64_t elements, size_t size) {
  return static_cast<const char*>(p) + elements * static_cast<int64_t>(size);
}
inline void* advance(void* p, int64_t elements, size_t size) {
  return static_cast<char*>(p) + elements * static_cast<int64_t>(size);
}

// Row-major strides.
struct Strides {
  explicit Strides(const Shape& s) {
    for (int64_t d = s.rank() - 1, n = 1; d >= 0; --d) {
      at[d] = n;
      n *= s[static_cast<int>(d)];
    }
  }
  int64_t operator[](int d) const { return at[d]; }
  int64_t at[Shape::max_rank];
};

// A shape around one axis: [outer, n, inner].
struct Around {
  int64_t outer, n, inner;
  Around(const Shape& s, int axis) {
    if (axis < 0) axis += s.rank();
    outer = s.product(0, axis);
    n = s[axis];
    inner = s.product(axis + 1, s.rank());
  }
  PS_HD int64_t columns() const { return outer * inner; }
  // The first element of column c; the others follow at steps of `inner`.
  PS_HD int64_t first(int64_t c) const { return c / inner * n * inner + c % inner; }
};

}  // namespace paddle
