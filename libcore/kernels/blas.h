// The only entry to matrix products. Behind it are our own kernels and, loaded when first needed,
// oneDNN and OpenBLAS; all run single-threaded beneath the pool.
#pragma once

#include <cstdint>
#include <string>

#include "tensor/device.h"

namespace paddle {

// c[m, n] = alpha * op(a) * op(b) + beta * c, all row-major: op(a) is [m, k], stored as [k, m]
// where trans_a; op(b) is [k, n], stored as [n, k] where trans_b. lda, ldb, ldc are the distances
// between stored rows. c must not overlap a or b. With beta == 0 c may hold anything, NaN too.
// Throws Error(config) where PADDLE_BLAS names
// a library that is absent.
void gemm(const Device& device, bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k,
          float alpha, const float* a, int64_t lda, const float* b, int64_t ldb, float beta,
          float* c, int64_t ldc);
void gemm(const Device& device, bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k,
          double alpha, const double* a, int64_t lda, const double* b, int64_t ldb, double beta,
          double* c, int64_t ldc);

// What computes large products in single precision, e.g. "own avx2", "oneDNN avx512_core",
// "OpenBLAS SkylakeX".
std::string gemm_kernel();

// The core type OpenBLAS chose; "" if the library is not there.
std::string openblas_core();

}  // namespace paddle
