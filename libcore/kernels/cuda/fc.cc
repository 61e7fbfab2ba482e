// kernels/blas.h and kernels/fc.h on a GPU: the products are the device's (cuBLAS).
#include "kernels/fc.h"

#include "kernels/blas.h"
#include "kernels/cuda/map.h"
#include "kernels/fc_act.h"
#include "kernels/memory.h"
#include "kernels/reduce.h"

namespace paddle {
namespace {

// y = act(y + bias), the bias along each row.
template <class A>
struct AddBias {
  int64_t n;
  template <class T>
  PS_HD void operator()(int64_t i, const T* bias, T* y) const {
    y[i] = A::value(y[i] + bias[i % n]);
  }
};

template <class A>
struct ActGrad {
  template <class T>
  PS_HD T operator()(T y, T dy) const {
    return dy * A::slope(y);
  }
};

// The rate stays where it is: the host does not wait for it.
template <class T>
struct Descend {
  const T* rate;
  PS_HD void operator()(T& value, const T& grad) const { value -= *rate * grad; }
};

template <class T>
void multiply(const Device& device, const cuda::Product<T>& p) {
  if (p.m == 0 || p.n == 0) return;
  cuda::Gpu& gpu = cuda::gpu_of(device);
  ++gpu.work.products;
  gpu.work.product_flops += static_cast<uint64_t>(2 * p.m * p.n * p.k);
  gpu.multiply(device, p);
}

// f(A{}) with the activation as a type.
template <class F>
void with_act(Act act, const F& f) {
  switch (act) {
    case Act::none: return f(fc_act::None{});
    case Act::relu: return f(fc_act::Relu{});
    case Act::tanh: return f(fc_act::Tanh{});
    case Act::sigmoid: return f(fc_act::Sigmoid{});
  }
}

}  // namespace

void gemm(const Device& device, bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k,
          float alpha, const float* a, int64_t lda, const float* b, int64_t ldb, float beta,
          float* c, int64_t ldc) {
  multiply(device,
           cuda::Product<float>{trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc});
}
void gemm(const Device& device, bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k,
          double alpha, const double* a, int64_t lda, const double* b, int64_t ldb, double beta,
          double* c, int64_t ldc) {
  multiply(device,
           cuda::Product<double>{trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc});
}

template <class T>
void fc(const Device& device, int64_t m, int64_t n, int64_t k, const T* x, const T* w,
        const T* bias, Act act, T* out) {
  gemm(device, false, false, m, n, k, T(1), x, k, w, n, T(0), out, n);
  with_act(act, [&]<class A>(A) { cuda::launch(device, m * n, AddBias<A>{n}, bias, out); });
}

template <class T>
void fc_act_grad(const Device& device, Act act, int64_t m, int64_t n, const T* y, const T* dy,
                 T* dz, T* sums) {
  with_act(act, [&]<class A>(A) { map(device, m * n, ActGrad<A>{}, dz, y, dy); });
  column_sums(device, m, n, dz, sums, false);
}

template <class T>
void fc_bias_update(const Device& device, int64_t n, const T* rate, const T* grad, T* bias) {
  update(device, n, Descend<T>{rate}, bias, grad);
}

// The product takes its factors from the host, so the gradient is made first.
int64_t fc_update_scratch(int64_t k, int64_t n) { return k * n; }

template <class T>
void fc_weight_update(const Device& device, int64_t m, int64_t n, int64_t k, const T* rate,
                      const T* x, const T* dz, T* scratch, T* w) {
  gemm(device, true, false, k, n, m, T(1), x, k, dz, n, T(0), scratch, n);
  update(device, k * n, Descend<T>{rate}, w, static_cast<const T*>(scratch));
}

#define PS_FC(T)                                                                                \
  template void fc(const Device&, int64_t, int64_t, int64_t, const T*, const T*, const T*, Act, \
                   T*);                                                                         \
  template void fc_act_grad(const Device&, Act, int64_t, int64_t, const T*, const T*, T*, T*);  \
  template void fc_bias_update(const Device&, int64_t, const T*, const T*, T*);                 \
  template void fc_weight_update(const Device&, int64_t, int64_t, int64_t, const T*, const T*,  \
                                 const T*, T*, T*);
PS_FC(float)
PS_FC(double)
#undef PS_FC

}  // namespace paddle
