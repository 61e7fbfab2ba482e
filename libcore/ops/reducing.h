// Reductions over any set of dimensions. Results do not depend on the number of threads: the order
// of every sum is fixed by the shape.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "graph/kernel.h"
#include "kernels/map.h"
#include "kernels/simd.h"

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

inline constexpr int lanes = 16;
inline constexpr int64_t reduce_block = 8192;

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
template <class Op, class T>
void reduce_rows(int64_t begin, int64_t end, int64_t n, const T* x, T* out) {
  run_loop<worth_clones<T>>(ReduceRows<Op>{}, begin, end, n, x, out);
}

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
template <class Op, class T>
void reduce_columns(int64_t begin, int64_t end, int64_t n, int64_t width, const T* x, T* out) {
  run_loop<worth_clones<T>>(ReduceColumns<Op>{}, begin, end, n, width, x, out);
}

// One long array: blocks of a fixed size, joined in order.
template <class Op, class T>
void reduce_all(ThreadPool& pool, Scratch& scratch, int64_t n, const T* x, T* out) {
  const int64_t blocks = (n + reduce_block - 1) / reduce_block;
  T* part = scratch.get<T>(blocks);
  pool.parallel_for(blocks, 2, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t at = b * reduce_block;
      reduce_rows<Op>(0, 1, std::min(reduce_block, n - at), x + at, part + b);
    }
  });
  reduce_rows<Op>(0, 1, blocks, part, out);
}

// x [outer, n, inner] -> out [outer, inner].
template <class Op, class T>
void reduce_middle(ThreadPool& pool, Scratch& scratch, int64_t outer, int64_t n, int64_t inner,
                   const T* x, T* out) {
  const auto grain = [&](int64_t work) { return std::max<int64_t>(1, map_grain / (work + 1)); };
  if (inner == 1 && outer == 1 && n > reduce_block) {
    reduce_all<Op>(pool, scratch, n, x, out);
  } else if (inner == 1) {
    pool.parallel_for(outer, grain(n),
                      [&](int64_t b, int64_t e) { reduce_rows<Op>(b, e, n, x, out); });
  } else if (outer == 1) {
    pool.parallel_for(inner, std::max<int64_t>(lanes, grain(n)),
                      [&](int64_t b, int64_t e) { reduce_columns<Op>(b, e, n, inner, x, out); });
  } else {
    pool.parallel_for(outer, grain(n * inner), [&](int64_t b, int64_t e) {
      for (int64_t o = b; o < e; ++o)
        reduce_columns<Op>(0, inner, n, inner, x + o * n * inner, out + o * inner);
    });
  }
}

}  // namespace reducing

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
  void run(ThreadPool& pool, Scratch& scratch, const T* x, T* out) const;

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

// One pass per run of reduced dimensions, the last run first; each makes the array smaller.
template <class Op, class T>
void Reduction::run(ThreadPool& pool, Scratch& scratch, const T* x, T* out) const {
  int passes = 0;
  for (int d = 0; d < rank_; ++d) passes += mask_[d];
  if (kept_ == 0) return;
  if (passes == 0 || reduced_ == 0) {
    if (reduced_ == 0)
      std::fill_n(out, kept_, Op::template identity<T>);
    else if (out != x)
      std::copy_n(x, kept_, out);
    return;
  }
  if (passes == 1) {
    const int d = mask_[0] ? 0 : 1;
    return reducing::reduce_middle<Op>(pool, scratch, product(0, d), dims_[d],
                                       product(d + 1, rank_), x, out);
  }
  // The results of all passes but the last lie one after the other in the scratch; a pass of more
  // than one result needs none itself.
  int64_t room = 0, inner = 1;
  for (int d = rank_ - 1, left = passes; d >= 0 && left > 1; --d) {
    if (!mask_[d])
      inner *= dims_[d];
    else
      --left, room += product(0, d) * inner;
  }
  T* part = scratch.get<T>(room);
  inner = 1;
  for (int d = rank_ - 1; d >= 0; --d) {
    if (!mask_[d]) {
      inner *= dims_[d];
      continue;
    }
    T* to = --passes == 0 ? out : part;
    reducing::reduce_middle<Op>(pool, scratch, product(0, d), dims_[d], inner, x, to);
    x = to;
    part += product(0, d) * inner;
  }
}

}  // namespace paddle
