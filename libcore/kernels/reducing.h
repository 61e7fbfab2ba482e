// Reductions over any set of dimensions. Results do not depend on the number of threads: the order
// of every sum is fixed by the shape.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/map.h"
#include "kernels/simd.h"
#include "tensor/device.h"

namespace paddle {
namespace reducing {

struct Sum {
  template <class T>
  static constexpr T identity = T(0);
  template <class T>
  PS_INLINE PS_HD T operator()(T a, T b) const {
    return a + b;
  }
};
struct Product {
  template <class T>
  static constexpr T identity = T(1);
  template <class T>
  PS_INLINE PS_HD T operator()(T a, T b) const {
    return a * b;
  }
};
// A NaN wins, so that it is seen.
struct Max {
  template <class T>
  static constexpr T identity = std::numeric_limits<T>::has_infinity
                                    ? -std::numeric_limits<T>::infinity()
                                    : std::numeric_limits<T>::lowest();
  template <class T>
  PS_INLINE PS_HD T operator()(T a, T b) const {
    return b > a || b != b ? b : a;
  }
};
struct Min {
  template <class T>
  static constexpr T identity = std::numeric_limits<T>::has_infinity
                                    ? std::numeric_limits<T>::infinity()
                                    : std::numeric_limits<T>::max();
  template <class T>
  PS_INLINE PS_HD T operator()(T a, T b) const {
    return b < a || b != b ? b : a;
  }
};

inline constexpr int64_t reduce_block = 8192;

#ifndef PS_GPU
inline constexpr int lanes = 16;

// One contiguous row, in independent lanes so that it vectorises without reordering anything.
template <class Op, class T>
PS_INLINE T reduce_row(const T* x, int64_t n) {
  const Op op;
  T result = Op::template identity<T>;
  int64_t i = 0;
  if (n >= 2 * lanes) {
    T lane[lanes];
    for (int k = 0; k < lanes; ++k) lane[k] = x[k];
    for (i = lanes; i + lanes <= n; i += lanes)
      for (int k = 0; k < lanes; ++k) lane[k] = op(lane[k], x[i + k]);
    for (int k = 0; k < lanes; ++k) result = op(result, lane[k]);
  }
  for (; i < n; ++i) result = op(result, x[i]);
  return result;
}

template <class Op>
struct ReduceRows {
  template <class T>
  PS_INLINE void operator()(int64_t begin, int64_t end, int64_t n, const T* x, T* out) const {
    for (int64_t r = begin; r < end; ++r) out[r] = reduce_row<Op>(x + r * n, n);
  }
};

// out[j] over x[k, j] for j in [begin, end).
template <class Op>
struct ReduceColumns {
  template <class T>
  PS_INLINE void operator()(int64_t begin, int64_t end, int64_t n, int64_t width, const T* x,
                            T* out) const {
    const Op op;
    for (int64_t j = begin; j < end; ++j) out[j] = Op::template identity<T>;
    for (int64_t k = 0; k < n; ++k) {
      const T* row = x + k * width;
      PS_IVDEP
      for (int64_t j = begin; j < end; ++j) out[j] = op(out[j], row[j]);
    }
  }
};

// The loops of one operation on one type. How dimensions become rows and columns, and these parts
// for threads, is the same for all of them and compiled once.
struct Loops {
  size_t size;  // of an element
  void (*rows)(int64_t begin, int64_t end, int64_t n, const void* x, void* out);
  void (*columns)(int64_t begin, int64_t end, int64_t n, int64_t width, const void* x, void* out);
  void (*fill)(const Device& device, int64_t n, void* out);  // with the result of nothing
};
template <class Op, class T>
inline constexpr Loops loops_of = {
    sizeof(T),
    [](int64_t begin, int64_t end, int64_t n, const void* x, void* out) {
      run_loop<worth_clones<T>>(ReduceRows<Op>{}, begin, end, n, static_cast<const T*>(x),
                                static_cast<T*>(out));
    },
    [](int64_t begin, int64_t end, int64_t n, int64_t width, const void* x, void* out) {
      run_loop<worth_clones<T>>(ReduceColumns<Op>{}, begin, end, n, width, static_cast<const T*>(x),
                                static_cast<T*>(out));
    },
    [](const Device&, int64_t n, void* out) {
      std::fill_n(static_cast<T*>(out), n, Op::template identity<T>);
    }};
#endif

}  // namespace reducing
}  // namespace paddle

#ifdef PS_GPU
#include "kernels/cuda/reducing.h"
#endif

namespace paddle {

// The dimensions of a reduction, neighbours of one kind joined.
class Reduction {
 public:
  void add(int64_t length, bool reduced) {
    (reduced ? reduced_ : kept_) *= length;
    if (length == 1) return;
    if (rank_ > 0 && mask_[rank_ - 1] == reduced) {
      dims_[rank_ - 1] *= length;
    } else {
      dims_[rank_] = length;
      mask_[rank_++] = reduced;
    }
  }
  int64_t kept() const { return kept_; }        // elements of the result
  int64_t reduced() const { return reduced_; }  // elements that each one is made of

  template <class Op, class T>
  void run(const Device& device, Scratch& scratch, const T* x, T* out) const {
    run(device, scratch, reducing::loops_of<Op, T>, x, out);
  }
  void run(const Device& device, Scratch& scratch, const reducing::Loops& loops, const void* x,
           void* out) const;

 private:
  int64_t product(int from, int to) const {
    int64_t n = 1;
    for (int d = from; d < to; ++d) n *= dims_[d];
    return n;
  }

  int rank_ = 0;
  int64_t dims_[16], kept_ = 1, reduced_ = 1;
  bool mask_[16];
};

}  // namespace paddle
