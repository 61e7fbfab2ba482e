// kernels/layer_norm.h on a GPU: one thread for the sums of a row or of a column, one for each
// element of the result.
#include "kernels/layer_norm.h"

#include <cmath>

#include "kernels/cuda/launch.h"

namespace paddle {
namespace {

// The mean of a row and 1 / sqrt(variance + epsilon), one behind the other, and what the
// caller asked for.
struct RowStats {
  int64_t n;
  double epsilon;
  template <class T>
  PS_HD void operator()(int64_t row, const T* x, double* stats, T* mean, T* variance) const {
    double sum = 0, squares = 0;
    for (int64_t k = 0; k < n; ++k) sum += static_cast<double>(x[row * n + k]);
    const double m = sum / static_cast<double>(n);
    for (int64_t k = 0; k < n; ++k) {
      const T d = x[row * n + k] - static_cast<T>(m);
      squares += static_cast<double>(d * d);
    }
    const double v = squares / static_cast<double>(n);
    stats[2 * row] = m;
    stats[2 * row + 1] = 1 / std::sqrt(v + epsilon);
    if (mean != nullptr) mean[row] = static_cast<T>(m);
    if (variance != nullptr) variance[row] = static_cast<T>(v);
  }
};

struct NormAt {
  int64_t n;
  template <class T>
  PS_HD void operator()(int64_t i, const T* x, const double* stats, const T* scale, const T* bias,
                        T* y) const {
    const int64_t row = i / n, k = i % n;
    T out = (x[i] - static_cast<T>(stats[2 * row])) * static_cast<T>(stats[2 * row + 1]);
    if (scale != nullptr) out *= scale[k];
    if (bias != nullptr) out += bias[k];
    y[i] = out;
  }
};

struct InverseAt {
  double epsilon;
  template <class T>
  PS_HD void operator()(int64_t row, const T* variance, T* inverse) const {
    inverse[row] = static_cast<T>(1 / std::sqrt(static_cast<double>(variance[row]) + epsilon));
  }
};

// What all elements of a row subtract: shift, and slope for each unit of distance to the mean.
struct RowGrad {
  int64_t n;
  template <class T>
  PS_HD void operator()(int64_t row, const T* x, const T* dy, const T* scale, const T* mean,
                        const T* inverse, T* shift, T* slope) const {
    double sum = 0, dot = 0;
    for (int64_t k = 0; k < n; ++k) {
      const T g = scale != nullptr ? dy[row * n + k] * scale[k] : dy[row * n + k];
      sum += static_cast<double>(g);
      dot += static_cast<double>(g * (x[row * n + k] - mean[row]));
    }
    const auto count = static_cast<double>(n);
    shift[row] = static_cast<T>(sum / count);
    slope[row] = static_cast<T>(dot / count * static_cast<double>(inverse[row] * inverse[row]));
  }
};

struct NormGradAt {
  int64_t n;
  template <class T>
  PS_HD void operator()(int64_t i, const T* x, const T* dy, const T* scale, const T* mean,
                        const T* inverse, const T* shift, const T* slope, T* dx) const {
    const int64_t row = i / n;
    const T g = scale != nullptr ? dy[i] * scale[i % n] : dy[i];
    dx[i] = inverse[row] * (g - shift[row] - (x[i] - mean[row]) * slope[row]);
  }
};

struct NormColumnGrad {
  int64_t rows, n;
  template <class T>
  PS_HD void operator()(int64_t k, const T* x, const T* dy, const T* mean, const T* inverse,
                        T* dscale, T* dbias) const {
    T scales = 0, biases = 0;
    for (int64_t row = 0, i = k; row < rows; ++row, i += n) {
      scales += dy[i] * (x[i] - mean[row]) * inverse[row];
      biases += dy[i];
    }
    if (dscale != nullptr) dscale[k] = scales;
    if (dbias != nullptr) dbias[k] = biases;
  }
};

}  // namespace

template <class T>
void layer_norm(const Device& device, int64_t rows, int64_t n, double epsilon, const T* x,
                const T* scale, const T* bias, T* y, T* mean, T* variance) {
  double* stats = cuda::gpu_of(device).workspace<double>(2 * rows);
  cuda::launch(device, rows, RowStats{n, epsilon}, x, stats, mean, variance);
  cuda::launch(device, rows * n, NormAt{n}, x, static_cast<const double*>(stats), scale, bias, y);
}

template <class T>
void layer_norm_grad(const Device& device, Scratch& scratch, int64_t rows, int64_t n,
                     double epsilon, const T* x, const T* dy, const T* scale, const T* mean,
                     const T* variance, T* dx, T* dscale, T* dbias) {
  T* made = scratch.get<T>(3 * rows);
  const T *inverse = made, *shift = made + rows, *slope = made + 2 * rows;
  cuda::launch(device, rows, InverseAt{epsilon}, variance, made);
  if (dx != nullptr) {
    cuda::launch(device, rows, RowGrad{n}, x, dy, scale, mean, inverse, made + rows,
                 made + 2 * rows);
    cuda::launch(device, rows * n, NormGradAt{n}, x, dy, scale, mean, inverse, shift, slope, dx);
  }
  if (dscale != nullptr || dbias != nullptr)
    cuda::launch(device, n, NormColumnGrad{rows, n}, x, dy, mean, inverse, dscale, dbias);
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
