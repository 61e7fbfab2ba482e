// A matrix product as the kernels take it.
#pragma once

#include <cstdint>

namespace paddle {

// c = alpha * op(a) * op(b) + beta * c, as said in blas.h.
template <class T>
struct Product {
  bool trans_a, trans_b;
  int64_t m, n, k;
  T alpha;
  const T* a;
  int64_t lda;
  const T* b;
  int64_t ldb;
  T beta;
  T* c;
  int64_t ldc;
};

}  // namespace paddle
