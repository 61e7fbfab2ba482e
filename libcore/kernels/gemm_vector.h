// Matrix products with one, two or three vectors: too narrow to be worth packing.
#pragma once

#include <cstdint>

#include "kernels/product.h"
#include "tensor/device.h"

namespace paddle {

// Vectors that rows are multiplied with are copied to the stack if they are stored with gaps and
// are no longer than this.
inline constexpr int64_t longest_copy = 2048;

template <class T>
bool is_vector_product(const Product<T>& p) {
  const bool column = p.n <= most_vectors && p.n <= p.m;
  if (!column && p.m > most_vectors) return false;
  const bool dots = column ? !p.trans_a : p.trans_b;
  const int64_t step = column ? (p.trans_b ? 1 : p.ldb) : (p.trans_a ? p.lda : 1);
  return !dots || step == 1 || p.k <= longest_copy;
}

// An element's sum depends on its own terms only, not on the rows and vectors beside it nor on how
// the work is split over threads.
void gemm_vector(const Device& device, const Product<float>& p);
void gemm_vector(const Device& device, const Product<double>& p);

}  // namespace paddle
