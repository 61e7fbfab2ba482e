// Sums over contiguous arrays. Every result depends on the data and its size alone, not on the
// number of threads: partial results belong to fixed blocks and are joined in order.
#pragma once

#include <cstdint>

#include "tensor/device.h"

namespace paddle {

// *out = the sum of x[i], or of x[i] * x[i]; 0 where n is 0.
void sum(const Device& device, int64_t n, const float* x, float* out);
void sum(const Device& device, int64_t n, const double* x, double* out);
void sum_squares(const Device& device, int64_t n, const float* x, float* out);
void sum_squares(const Device& device, int64_t n, const double* x, double* out);

// Is there an infinity or a NaN? Waits for the answer.
bool any_not_finite(const Device& device, int64_t n, const float* x);
bool any_not_finite(const Device& device, int64_t n, const double* x);

// Of a row-major matrix [m, n]: out[j] = sum over i of x[i, j], or out[j] += that where `add`. m =
// 0 gives zeros.
void column_sums(const Device& device, int64_t m, int64_t n, const float* x, float* out, bool add);
void column_sums(const Device& device, int64_t m, int64_t n, const double* x, double* out,
                 bool add);

// out[i] = the sum of row i.
void row_sums(const Device& device, int64_t m, int64_t n, const float* x, float* out);
void row_sums(const Device& device, int64_t m, int64_t n, const double* x, double* out);

}  // namespace paddle
