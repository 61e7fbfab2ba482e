// Matrix products too small, or too narrow, to be worth packing; and the shape of a product as the
// kernels take it.
#pragma once

#include <cstdint>

#include "base/thread_pool.h"
#include "kernels/product.h"

namespace paddle {

// c = beta * c: all there is to do where k or alpha is 0.
void scale_result(const Product<float>& p);
void scale_result(const Product<double>& p);

// Any product, by plain loops: for those of a few thousand operations.
void gemm_plain(const Product<float>& p);
void gemm_plain(const Product<double>& p);

// Is it a matrix by a vector, with the vectors stored without gaps?
template <class T>
bool is_vector_product(const Product<T>& p) {
  if (p.n == 1) return p.ldc == 1 && (p.trans_b || p.ldb == 1 || p.k == 1);
  return p.m == 1 && (!p.trans_a || p.lda == 1 || p.k == 1);
}

void gemm_vector(ThreadPool& pool, const Product<float>& p);
void gemm_vector(ThreadPool& pool, const Product<double>& p);

}  // namespace paddle
