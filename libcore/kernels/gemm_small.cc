#include "kernels/gemm_small.h"

#include <algorithm>

#include "kernels/simd.h"

namespace paddle {
namespace {

template <class T>
PS_CLONES void scale(const Product<T>& p) {
  for (int64_t i = 0; i < p.m; ++i) {
    T* row = p.c + i * p.ldc;
    if (p.beta == 0) {
      for (int64_t j = 0; j < p.n; ++j) row[j] = 0;
    } else {
      for (int64_t j = 0; j < p.n; ++j) row[j] *= p.beta;
    }
  }
}

template <class T>
PS_CLONES void plain_rows(const Product<T>& p) {  // op(b) has contiguous rows: add them up
  for (int64_t i = 0; i < p.m; ++i) {
    T* row = p.c + i * p.ldc;
    for (int64_t q = 0; q < p.k; ++q) {
      const T s = p.alpha * (p.trans_a ? p.a[q * p.lda + i] : p.a[i * p.lda + q]);
      const T* b = p.b + q * p.ldb;
      PS_IVDEP
      for (int64_t j = 0; j < p.n; ++j) row[j] += s * b[j];
    }
  }
}

template <class T>
PS_CLONES void plain_dots(const Product<T>& p) {  // op(b) has contiguous columns
  const int64_t step = p.trans_a ? p.lda : 1;
  for (int64_t i = 0; i < p.m; ++i) {
    const T* a = p.trans_a ? p.a + i : p.a + i * p.lda;
    for (int64_t j = 0; j < p.n; ++j) {
      const T* b = p.b + j * p.ldb;
      T s = 0;
      for (int64_t q = 0; q < p.k; ++q) s += a[q * step] * b[q];
      p.c[i * p.ldc + j] += p.alpha * s;
    }
  }
}

template <class T>
void plain(const Product<T>& p) {
  if (p.beta != 1) scale(p);
  p.trans_b ? plain_dots(p) : plain_rows(p);
}

// y = alpha * M x + beta * y (rows of M dotted with x), or alpha * M' x + beta * y (rows of M added
// up).
template <class T>
struct MatVec {
  const T* matrix;
  int64_t stride;
  const T* x;
  int64_t length;  // of x
  T* y;
  int64_t step;  // from one element of y to the next
  T alpha, beta;

  PS_INLINE void put(int64_t i, T sum) const {
    T& to = y[i * step];
    to = beta == 0 ? alpha * sum : alpha * sum + beta * to;
  }
};

// Several rows at a time share the loads of x and hide each other's latency.
template <int bytes, int rows, class T>
PS_INLINE void dot_group(const MatVec<T>& v, int64_t i) {
  using Loose = typename Lanes<T, bytes>::Loose;
  constexpr int lanes = Lanes<T, bytes>::count;
  typename Lanes<T, bytes>::Vector acc[rows] = {};
  const T* row = v.matrix + i * v.stride;
  int64_t q = 0;
  for (; q + lanes <= v.length; q += lanes)
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r)
      acc[r] += *reinterpret_cast<const Loose*>(row + r * v.stride + q) *
                *reinterpret_cast<const Loose*>(v.x + q);
  T sum[rows] = {};
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 8
    for (int l = 0; l < lanes; ++l) sum[r] += acc[r][l];
  for (; q < v.length; ++q)
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) sum[r] += row[r * v.stride + q] * v.x[q];
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) v.put(i + r, sum[r]);
}

template <int bytes, class T>
PS_INLINE void dot_groups(const MatVec<T>& v, int64_t begin, int64_t end) {
  int64_t i = begin;
  for (; i + 4 <= end; i += 4) dot_group<bytes, 4>(v, i);
  for (; i < end; ++i) dot_group<bytes, 1>(v, i);
}

template <class T>
PS_CLONES void dot_rows(const MatVec<T>& given, int64_t begin, int64_t end) {
  const MatVec<T> v = given;  // a copy cannot alias y
  v.length < 64 ? dot_groups<16>(v, begin, end) : dot_groups<32>(v, begin, end);
}

// `width` outputs at a time stay in registers while the rows pass by.
template <int width, class T>
PS_INLINE int64_t add_block(const MatVec<T>& v, int64_t j, int64_t end) {
  for (; j + width <= end; j += width) {
    T acc[width] = {};
    const T* row = v.matrix + j;
    for (int64_t q = 0; q < v.length; ++q, row += v.stride)
      for (int64_t l = 0; l < width; ++l) acc[l] += v.x[q] * row[l];
    for (int64_t l = 0; l < width; ++l) v.put(j + l, acc[l]);
  }
  return j;
}

template <class T>
PS_CLONES void add_rows(const MatVec<T>& given, int64_t begin, int64_t end) {
  const MatVec<T> v = given;
  int64_t j = add_block<32>(v, begin, end);
  j = add_block<8>(v, j, end);
  j = add_block<4>(v, j, end);
  add_block<1>(v, j, end);
}

template <class T>
void vector_product(const Device& device, const Product<T>& p) {
  const bool column = p.n <= most_vectors && p.n <= p.m;  // results are columns of c, else rows
  const bool dots = column ? !p.trans_a : p.trans_b;
  const int64_t vectors = column ? p.n : p.m, count = column ? p.m : p.n;
  const T* x = column ? p.b : p.a;
  const int64_t ldx = column ? p.ldb : p.lda;
  const bool in_rows = column ? p.trans_b : !p.trans_a;  // is each vector stored as a row?
  MatVec<T> v{
      column ? p.a : p.b, column ? p.lda : p.ldb, x, p.k, p.c, column ? p.ldc : 1, p.alpha, p.beta};
  T copy[longest_copy];
  for (int64_t i = 0; i < vectors; ++i) {
    v.x = in_rows ? x + i * ldx : x + i;
    v.y = column ? p.c + i : p.c + i * p.ldc;
    if (!in_rows && ldx != 1) {
      for (int64_t q = 0; q < p.k; ++q) copy[q] = v.x[q * ldx];
      v.x = copy;
    }
    device.pool().parallel_for(count, std::max<int64_t>(64, 65536 / p.k),
                               [&](int64_t begin, int64_t end) {
                                 dots ? dot_rows(v, begin, end) : add_rows(v, begin, end);
                               });
  }
}

}  // namespace

void scale_result(const Product<float>& p) { scale(p); }
void scale_result(const Product<double>& p) { scale(p); }
void gemm_plain(const Product<float>& p) { plain(p); }
void gemm_plain(const Product<double>& p) { plain(p); }
void gemm_vector(const Device& device, const Product<float>& p) { vector_product(device, p); }
void gemm_vector(const Device& device, const Product<double>& p) { vector_product(device, p); }

}  // namespace paddle
