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

}  // namespace

void scale_result(const Product<float>& p) { scale(p); }
void scale_result(const Product<double>& p) { scale(p); }
void gemm_plain(const Product<float>& p) { plain(p); }
void gemm_plain(const Product<double>& p) { plain(p); }

}  // namespace paddle
