#include "kernels/layer_norm.h"

#include <algorithm>
#include <cmath>

#include "kernels/lane_sum.h"

namespace paddle {
namespace {

template <class T>
PS_CLONES void norm_row(int64_t n, const T* x, const T* scale, const T* bias, double epsilon, T* y,
                        double* mean, double* variance) {
  *mean = lane_sum<T>(n, [=](int64_t k) { return x[k]; }) / static_cast<double>(n);
  const T m = static_cast<T>(*mean);
  *variance =
      lane_sum<T>(n, [=](int64_t k) { return (x[k] - m) * (x[k] - m); }) / static_cast<double>(n);
  const T inverse = static_cast<T>(1 / std::sqrt(*variance + epsilon));
  PS_IVDEP
  for (int64_t k = 0; k < n; ++k) y[k] = (x[k] - m) * inverse;
  if (scale != nullptr)
    for (int64_t k = 0; k < n; ++k) y[k] *= scale[k];
  if (bias != nullptr)
    for (int64_t k = 0; k < n; ++k) y[k] += bias[k];
}

template <class T>
PS_CLONES void norm_row_grad(int64_t n, const T* x, const T* dy, const T* scale, T mean, T inverse,
                             T* dx) {
  const auto g = [=](int64_t k) { return scale != nullptr ? dy[k] * scale[k] : dy[k]; };
  const auto count = static_cast<double>(n);
  const T shift = static_cast<T>(lane_sum<T>(n, g) / count);
  const T slope = static_cast<T>(lane_sum<T>(n, [=](int64_t k) { return g(k) * (x[k] - mean); }) /
                                 count * static_cast<double>(inverse * inverse));
  for (int64_t k = 0; k < n; ++k) dx[k] = inverse * (g(k) - shift - (x[k] - mean) * slope);
}

// Columns [begin, end) of the gradients of Scale and Bias; either may be null.
template <class T>
PS_CLONES void norm_columns_grad(int64_t rows, int64_t n, int64_t begin, int64_t end, const T* x,
                                 const T* dy, const T* mean, const T* inverse, T* dscale,
                                 T* dbias) {
  if (dscale != nullptr) std::fill(dscale + begin, dscale + end, T(0));
  if (dbias != nullptr) std::fill(dbias + begin, dbias + end, T(0));
  for (int64_t r = 0; r < rows; ++r, x += n, dy += n) {
    const T m = mean[r], inv = inverse[r];
    if (dscale != nullptr)
      for (int64_t k = begin; k < end; ++k) dscale[k] += dy[k] * (x[k] - m) * inv;
    if (dbias != nullptr)
      for (int64_t k = begin; k < end; ++k) dbias[k] += dy[k];
  }
}

int64_t rows_grain(int64_t n) { return std::max<int64_t>(1, 16384 / std::max<int64_t>(1, n)); }

}  // namespace

template <class T>
void layer_norm(const Device& device, int64_t rows, int64_t n, double epsilon, const T* x,
                const T* scale, const T* bias, T* y, T* mean, T* variance) {
  device.pool().parallel_for(rows, rows_grain(n), [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      double m = 0, v = 0;
      norm_row<T>(n, x + k * n, scale, bias, epsilon, y + k * n, &m, &v);
      if (mean != nullptr) mean[k] = static_cast<T>(m);
      if (variance != nullptr) variance[k] = static_cast<T>(v);
    }
  });
}

template <class T>
void layer_norm_grad(const Device& device, Scratch& scratch, int64_t rows, int64_t n,
                     double epsilon, const T* x, const T* dy, const T* scale, const T* mean,
                     const T* variance, T* dx, T* dscale, T* dbias) {
  T* inverse = scratch.get<T>(rows);
  for (int64_t k = 0; k < rows; ++k)
    inverse[k] = static_cast<T>(1 / std::sqrt(static_cast<double>(variance[k]) + epsilon));
  if (dx != nullptr)
    device.pool().parallel_for(rows, rows_grain(n), [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k)
        norm_row_grad<T>(n, x + k * n, dy + k * n, scale, mean[k], inverse[k], dx + k * n);
    });
  if (dscale == nullptr && dbias == nullptr) return;
  const int64_t grain = std::max<int64_t>(16, 16384 / std::max<int64_t>(1, rows));
  device.pool().parallel_for(n, grain, [&](int64_t begin, int64_t end) {
    norm_columns_grad<T>(rows, n, begin, end, x, dy, mean, inverse, dscale, dbias);
  });
}

template void layer_norm(const Device&, int64_t, int64_t, double, const float*, const float*,
                         const float*, float*, float*, float*);
template void layer_norm(const Device&, int64_t, int64_t, double, const double*, const double*,
                         const double*, double*, double*, double*);
template void layer_norm_grad(const Device&, Scratch&, int64_t, int64_t, double, const float*,
                              const float*, const float*, const float*, const float*, float*,
                              float*, float*);
template void layer_norm_grad(const Device&, Scratch&, int64_t, int64_t, double, const double*,
                              const double*, const double*, const double*, const double*, double*,
                              double*, double*);

}  // namespace paddle
