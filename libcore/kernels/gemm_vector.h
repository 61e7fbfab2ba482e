// Matrix products with one, two or three vectors: too narrow to be worth packing.
#pragma once

#include <cstdint>

#include "kernels/product.h"
#include "tensor/device.h"

namespace paddle {

// Products with a result of so few columns, or rows, are taken as that many products of a matrix
// and a vector.
inline constexpr int64_t most_vectors = 3;
// Vectors that are stored with gaps are copied to the stack, if no longer than this.
inline constexpr int64_t longest_copy = 2048;

template <class T>
bool is_vector_product(const Product<T>& p) {
  const bool column = p.n <= most_vectors && (p.n <= p.m);
  if (!column && p.m > most_vectors) return false;
  const int64_t gap = column ? (p.trans_b ? 1 : p.ldb) : (p.trans_a ? p.lda : 1);
  return gap == 1 || p.k <= longest_copy;
}

void gemm_vector(const Device& device, const Product<float>& p);
void gemm_vector(const Device& device, const Product<double>& p);

}  // namespace paddle
