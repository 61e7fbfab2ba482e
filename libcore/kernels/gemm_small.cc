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
  T alpha, beta;

  PS_INLINE void put(int64_t i, T sum) const {
    y[i] = beta == 0 ? alpha * sum : alpha * sum + beta * y[i];
  }
};

constexpr int64_t lanes = 16;

// Four rows at a time share the loads of x and hide each other's latency.
template <class T>
PS_CLONES void dot_rows(const MatVec<T>& v, int64_t begin, int64_t end) {
  int64_t i = begin;
  for (; i + 4 <= end; i += 4) {
    const T* r[4];
    for (int64_t u = 0; u < 4; ++u) r[u] = v.matrix + (i + u) * v.stride;
    T s[4] = {};
    int64_t q = 0;
    if (v.length >= 2 * lanes) {
      T acc[4][lanes] = {};
      for (; q + lanes <= v.length; q += lanes)
        for (int64_t u = 0; u < 4; ++u)
          for (int64_t l = 0; l < lanes; ++l) acc[u][l] += r[u][q + l] * v.x[q + l];
      for (int64_t u = 0; u < 4; ++u)
        for (int64_t l = 0; l < lanes; ++l) s[u] += acc[u][l];
    }
    for (; q < v.length; ++q)
      for (int64_t u = 0; u < 4; ++u) s[u] += r[u][q] * v.x[q];
    for (int64_t u = 0; u < 4; ++u) v.put(i + u, s[u]);
  }
  for (; i < end; ++i) {
    const T* r = v.matrix + i * v.stride;
    T s = 0;
    for (int64_t q = 0; q < v.length; ++q) s += r[q] * v.x[q];
    v.put(i, s);
  }
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
PS_CLONES void add_rows(const MatVec<T>& v, int64_t begin, int64_t end) {
  int64_t j = add_block<32>(v, begin, end);
  j = add_block<8>(v, j, end);
  j = add_block<4>(v, j, end);
  add_block<1>(v, j, end);
}

template <class T>
void vector_product(ThreadPool& pool, const Product<T>& p) {
  const bool column = p.n == 1;  // c is one column, else one row
  const bool dots = column ? !p.trans_a : p.trans_b;
  const MatVec<T> v{
      column ? p.a : p.b, column ? p.lda : p.ldb, column ? p.b : p.a, p.k, p.c, p.alpha, p.beta};
  const int64_t count = column ? p.m : p.n;
  pool.parallel_for(count, std::max<int64_t>(64, 65536 / p.k), [&](int64_t begin, int64_t end) {
    dots ? dot_rows(v, begin, end) : add_rows(v, begin, end);
  });
}

}  // namespace

void scale_result(const Product<float>& p) { scale(p); }
void scale_result(const Product<double>& p) { scale(p); }
void gemm_plain(const Product<float>& p) { plain(p); }
void gemm_plain(const Product<double>& p) { plain(p); }
void gemm_vector(ThreadPool& pool, const Product<float>& p) { vector_product(pool, p); }
void gemm_vector(ThreadPool& pool, const Product<double>& p) { vector_product(pool, p); }

}  // namespace paddle
