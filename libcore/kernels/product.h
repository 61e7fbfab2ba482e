// Matrix products as the kernels take them.
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

// Products with a result of so few columns, or rows, are taken as products of a matrix and that
// many vectors.
inline constexpr int64_t most_vectors = 3;

// y[v] = alpha * M x[v] + beta * y[v], each row of M multiplied with x and summed up (`dots`), or
// alpha * M' x[v] + beta * y[v], the rows of M added up. All vectors share one pass over M.
template <class T>
struct MatVec {
  const T* matrix;
  int64_t stride;
  int64_t length;  // of x
  int vectors;
  bool dots;
  const T* x[most_vectors];
  int64_t x_step;  // from one element to the next: 1 for dots
  T* y[most_vectors];
  int64_t y_step;
  T alpha, beta;
};

}  // namespace paddle
