// Who computes a matrix product: for tests and measurements; everyone else calls gemm() (blas.h).
#pragma once

#include <string>

#include "base/thread_pool.h"
#include "kernels/product.h"

namespace paddle {

enum class Blas { own, openblas, onednn };

// PADDLE_BLAS=own|openblas|onednn where set, else what was measured to be the fastest on such a
// CPU.
Blas default_blas();

// The product by `blas` whatever its size. Throws Error(config) where that library is absent.
void gemm_with(Blas blas, ThreadPool& pool, const Product<float>& p);
void gemm_with(Blas blas, ThreadPool& pool, const Product<double>& p);

}  // namespace paddle
