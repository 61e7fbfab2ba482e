#include "kernels/fc.h"

#include "kernels/blas.h"
#include "kernels/blas_backend.h"
#include "kernels/fc_act.h"
#include "kernels/simd.h"

namespace paddle {
namespace {

using fc_act::Relu, fc_act::Sigmoid, fc_act::Tanh;

// y = act(y) for part of a matrix.
template <class Act, class T>
PS_CLONES void act_part(T* y, int64_t stride, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; ++i) {
    T* row = y + i * stride;
    PS_IVDEP
    for (int64_t j = 0; j < columns; ++j) row[j] = Act::value(row[j]);
  }
}

// dz = dy * act'(y), and the column sums of dz, which are the bias gradient.
template <class Act, class T>
PS_CLONES void act_grad_rows(int64_t m, int64_t n, const T* y, const T* dy, T* dz, T* sums) {
  for (int64_t j = 0; j < n; ++j) sums[j] = 0;
  for (int64_t i = 0; i < m; ++i) {
    const int64_t at = i * n;
    PS_IVDEP
    for (int64_t j = 0; j < n; ++j) {
      const T d = dy[at + j] * Act::slope(y[at + j]);
      dz[at + j] = d;
      sums[j] += d;
    }
  }
}

}  // namespace

template <class T>
void fc(const Device& device, int64_t m, int64_t n, int64_t k, const T* x, const T* w,
        const T* bias, Act act, T* out) {
  MapPart<T> map = nullptr;
  switch (act) {
    case Act::none: break;
    case Act::relu: map = act_part<Relu, T>; break;
    case Act::tanh: map = act_part<Tanh, T>; break;
    case Act::sigmoid: map = act_part<Sigmoid, T>; break;
  }
  gemm_bias(device, m, n, k, x, w, bias, map, out);
}

template <class T>
void fc_act_grad(const Device&, Act act, int64_t m, int64_t n, const T* y, const T* dy, T* dz,
                 T* sums) {
  switch (act) {
    case Act::none: break;
    case Act::relu: return act_grad_rows<Relu, T>(m, n, y, dy, dz, sums);
    case Act::tanh: return act_grad_rows<Tanh, T>(m, n, y, dy, dz, sums);
    case Act::sigmoid: return act_grad_rows<Sigmoid, T>(m, n, y, dy, dz, sums);
  }
}

template <class T>
void fc_bias_update(const Device&, int64_t n, const T* rate, const T* grad, T* bias) {
  const T r = *rate;
  for (int64_t j = 0; j < n; ++j) bias[j] -= r * grad[j];
}

int64_t fc_update_scratch(int64_t, int64_t) { return 0; }

template <class T>
void fc_weight_update(const Device& device, int64_t m, int64_t n, int64_t k, const T* rate,
                      const T* x, const T* dz, T*, T* w) {
  gemm(device, true, false, k, n, m, -*rate, x, k, dz, n, T(1), w, n);
}

template void fc(const Device&, int64_t, int64_t, int64_t, const float*, const float*, const float*,
                 Act, float*);
template void fc(const Device&, int64_t, int64_t, int64_t, const double*, const double*,
                 const double*, Act, double*);
template void fc_act_grad(const Device&, Act, int64_t, int64_t, const float*, const float*, float*,
                          float*);
template void fc_act_grad(const Device&, Act, int64_t, int64_t, const double*, const double*,
                          double*, double*);
template void fc_bias_update(const Device&, int64_t, const float*, const float*, float*);
template void fc_bias_update(const Device&, int64_t, const double*, const double*, double*);
template void fc_weight_update(const Device&, int64_t, int64_t, int64_t, const float*, const float*,
                               const float*, float*, float*);
template void fc_weight_update(const Device&, int64_t, int64_t, int64_t, const double*,
                               const double*, const double*, double*, double*);

}  // namespace paddle
