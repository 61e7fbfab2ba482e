// Sums, extremes and products over contiguous arrays. Every result depends on the data and its size
// alone, not on the number of threads: partial results belong to fixed blocks and are joined in
// order.
#pragma once

#include <cstdint>

#include "base/thread_pool.h"

namespace paddle {

// Over nothing: 0 for sums, -infinity for max, +infinity for min. NaN in max and min is not
// promised to survive.
float sum(ThreadPool& pool, const float* x, int64_t n);
double sum(ThreadPool& pool, const double* x, int64_t n);
float max(ThreadPool& pool, const float* x, int64_t n);
double max(ThreadPool& pool, const double* x, int64_t n);
float min(ThreadPool& pool, const float* x, int64_t n);
double min(ThreadPool& pool, const double* x, int64_t n);
float dot(ThreadPool& pool, const float* x, const float* y, int64_t n);
double dot(ThreadPool& pool, const double* x, const double* y, int64_t n);
float sum_squares(ThreadPool& pool, const float* x, int64_t n);
double sum_squares(ThreadPool& pool, const double* x, int64_t n);

// Is there an infinity or a NaN?
bool any_not_finite(ThreadPool& pool, const float* x, int64_t n);
bool any_not_finite(ThreadPool& pool, const double* x, int64_t n);

// Of a row-major matrix [m, n]: out[j] = sum over i of x[i, j], or out[j] += that where `add`. m =
// 0 gives zeros.
void column_sums(ThreadPool& pool, int64_t m, int64_t n, const float* x, float* out, bool add);
void column_sums(ThreadPool& pool, int64_t m, int64_t n, const double* x, double* out, bool add);

// out[i] = the sum, or the largest, of row i.
void row_sums(ThreadPool& pool, int64_t m, int64_t n, const float* x, float* out);
void row_sums(ThreadPool& pool, int64_t m, int64_t n, const double* x, double* out);
void row_max(ThreadPool& pool, int64_t m, int64_t n, const float* x, float* out);
void row_max(ThreadPool& pool, int64_t m, int64_t n, const double* x, double* out);

}  // namespace paddle
