// A matrix product as the kernels take it.
#pragma once

#include <cstdint>

namespace paddle {

// What happens to c once its sums are there: a row is added to every row, then `map` is called for
// each part of c, while it is in the first cache. Only with alpha 1 and beta 0.
template <class T>
struct Finish {
  const T* bias;
  void (*map)(T* c, int64_t ldc, int64_t rows, int64_t columns);  // or null
};

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
  Finish<T> finish{};  // bias null: nothing to do
};

}  // namespace paddle
