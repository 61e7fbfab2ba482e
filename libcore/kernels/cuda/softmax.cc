// kernels/softmax.h on a GPU: one thread for each column along the axis.
#include "kernels/softmax.h"

#include "kernels/cuda/launch.h"
#include "kernels/loss_column.h"

namespace paddle {
namespace {

struct SoftmaxColumn {
  Around a;
  template <class T>
  PS_HD void operator()(int64_t c, const T* x, T* out) const {
    softmax_column(Column<T>{x + a.first(c), a.n, a.inner}, out + a.first(c));
  }
};

struct LogSoftmaxColumn {
  Around a;
  template <class T>
  PS_HD void operator()(int64_t c, const T* x, T* out) const {
    const Column<T> in{x + a.first(c), a.n, a.inner};
    T top = in[0], sum = 0;
    for (int64_t k = 1; k < a.n; ++k) top = in[k] > top || in[k] != in[k] ? in[k] : top;
    for (int64_t k = 0; k < a.n; ++k) sum += paddle::exp(in[k] - top);
    // Two steps: the small part must not be lost in a large top.
    const T log_sum = paddle::log(sum);
    for (int64_t k = 0; k < a.n; ++k) out[a.first(c) + k * a.inner] = (in[k] - top) - log_sum;
  }
};

struct SoftmaxGradColumn {
  Around a;
  template <class T>
  PS_HD void operator()(int64_t c, const T* y, const T* dy, T* dx) const {
    T dot = 0;
    for (int64_t k = 0, i = a.first(c); k < a.n; ++k, i += a.inner) dot += y[i] * dy[i];
    for (int64_t k = 0, i = a.first(c); k < a.n; ++k, i += a.inner) dx[i] = y[i] * (dy[i] - dot);
  }
};

struct LogSoftmaxGradColumn {
  Around a;
  template <class T>
  PS_HD void operator()(int64_t c, const T* y, const T* dy, T* dx) const {
    T sum = 0;
    for (int64_t k = 0, i = a.first(c); k < a.n; ++k, i += a.inner) sum += dy[i];
    for (int64_t k = 0, i = a.first(c); k < a.n; ++k, i += a.inner)
      dx[i] = dy[i] - paddle::exp(y[i]) * sum;
  }
};

int64_t columns_of(const Around& a) { return a.n > 0 ? a.columns() : 0; }

}  // namespace

template <class T>
void softmax(const Device& device, Scratch&, const Around& a, const T* x, T* out) {
  cuda::launch(device, columns_of(a), SoftmaxColumn{a}, x, out);
}
template <class T>
void log_softmax(const Device& device, Scratch&, const Around& a, const T* x, T* out) {
  cuda::launch(device, columns_of(a), LogSoftmaxColumn{a}, x, out);
}
template <class T>
void softmax_grad(const Device& device, Scratch&, const Around& a, const T* y, const T* dy, T* dx) {
  cuda::launch(device, columns_of(a), SoftmaxGradColumn{a}, y, dy, dx);
}
template <class T>
void log_softmax_grad(const Device& device, Scratch&, const Around& a, const T* y, const T* dy,
                      T* dx) {
  cuda::launch(device, columns_of(a), LogSoftmaxGradColumn{a}, y, dy, dx);
}

#define PS_SOFTMAX(T)                                                                         \
  template void softmax(const Device&, Scratch&, const Around&, const T*, T*);                \
  template void log_softmax(const Device&, Scratch&, const Around&, const T*, T*);            \
  template void softmax_grad(const Device&, Scratch&, const Around&, const T*, const T*, T*); \
  template void log_softmax_grad(const Device&, Scratch&, const Around&, const T*, const T*, T*);
PS_SOFTMAX(float)
PS_SOFTMAX(double)
#undef PS_SOFTMAX

}  // namespace paddle
