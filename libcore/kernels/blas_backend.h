// Who computes a matrix product, and products with more in one pass: for kernels/, tests and
// measurements; ops call gemm() (blas.h) and fc() (fc.h).
#pragma once

#include <string>

#include "kernels/product.h"
#include "tensor/device.h"

namespace paddle {

enum class Blas { own, openblas, onednn };

// PADDLE_BLAS=own|openblas|onednn where set, else what was measured to be the fastest on such a
// CPU.
Blas default_blas();

// The product by `blas` whatever its size. Throws Error(config) where that library is absent.
void gemm_with(Blas blas, const Device& device, const Product<float>& p);
void gemm_with(Blas blas, const Device& device, const Product<double>& p);

// c = map(a * b + bias) for a [m, k] and b [k, n], row-major without gaps; bias [n] is added to
// every row. `map(c, ldc, rows, columns)` is called for parts that make up c, from several threads,
// or is null.
template <class T>
using MapPart = void (*)(T* c, int64_t ldc, int64_t rows, int64_t columns);
void gemm_bias(const Device& device, int64_t m, int64_t n, int64_t k, const float* a,
               const float* b, const float* bias, MapPart<float> map, float* c);
void gemm_bias(const Device& device, int64_t m, int64_t n, int64_t k, const double* a,
               const double* b, const double* bias, MapPart<double> map, double* c);

}  // namespace paddle
