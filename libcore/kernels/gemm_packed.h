// Our own product of matrices of any size: blocks that stay in the caches, tiles that stay in
// registers. An element of the result is always summed in the same order, wherever its tile lies:
// results do not depend on how the work is split over threads, nor on what else is in the batch.
#pragma once

#include <cstddef>

#include "kernels/product.h"

namespace paddle {

// Single-threaded; m, n and k must be positive.
void gemm_packed(const Product<float>& p);
void gemm_packed(const Product<double>& p);

// Results [begin, end) of each vector of a product with few of them.
void vector_part(const MatVec<float>& m, int64_t begin, int64_t end);
void vector_part(const MatVec<double>& m, int64_t begin, int64_t end);

// "avx512", "avx2" or "base": the version in use.
const char* packed_isa();

// One version per instruction set, each compiled from gemm_tiles.cc with flags of its own.
// `scratch` has packed_scratch_bytes, aligned to 64.
struct PackedGemm {
  const char* isa;
  void (*f32)(const Product<float>& p, void* scratch);
  void (*f64)(const Product<double>& p, void* scratch);
  void (*vectors_f32)(const MatVec<float>& m, int64_t begin, int64_t end);
  void (*vectors_f64)(const MatVec<double>& m, int64_t begin, int64_t end);
};
extern const PackedGemm packed_base;
extern const PackedGemm packed_avx2;
extern const PackedGemm packed_avx512;

inline constexpr size_t packed_scratch_bytes = size_t{2} << 20;  // a large page

}  // namespace paddle
