#include "kernels/softmax.h"

#include <vector>

#include "kernels/softmax_rows.h"

namespace paddle {
namespace {

// The row forms: each works on whole rows, and its output may be any of its inputs.
struct SoftmaxForward {
  template <class T>
  static void rows(const Device& device, int64_t rows, int64_t n, const T* x, T* out) {
    softmax_rows(device, rows, n, x, out);
  }
};

template <class T>
PS_CLONES void shift_row(int64_t n, T by, T* x) {
  PS_IVDEP
  for (int64_t i = 0; i < n; ++i) x[i] -= by;
}

struct LogSoftmaxForward {
  template <class T>
  static void rows(const Device& device, int64_t rows, int64_t n, const T* x, T* out) {
    device.pool().parallel_for(rows, std::max<int64_t>(1, map_grain / (n + 1)),
                               [=](int64_t b, int64_t e) {
                                 std::vector<T> powers(static_cast<size_t>(n));
                                 for (int64_t r = b; r < e; ++r) {
                                   T top, sum;
                                   detail::exp_rows(1, n, x + r * n, powers.data(), &top, &sum);
                                   if (out != x) std::copy_n(x + r * n, n, out + r * n);
                                   // Two steps: the small part must not be lost in a large top.
                                   shift_row(n, top, out + r * n);
                                   shift_row(n, paddle::log(sum), out + r * n);
                                 }
                               });
  }
};

struct SoftmaxBackward {
  template <class T>
  static void rows(const Device& device, int64_t rows, int64_t n, const T* y, const T* dy, T* dx) {
    for_row_groups(device, rows, n, [=](int64_t first, int64_t count) {
      for (int64_t r = first; r < first + count; ++r) {
        const T dot = detail::dot_row(y + r * n, dy + r * n, n);
        detail::softmax_grad_row(n, dot, y + r * n, dy + r * n, dx + r * n);
      }
    });
  }
};

template <class T>
PS_CLONES void log_softmax_grad_row(int64_t n, const T* y, const T* dy, T* dx) {
  const T sum = reducing::reduce_row<reducing::Sum>(dy, n);
  PS_IVDEP
  for (int64_t i = 0; i < n; ++i) dx[i] = dy[i] - paddle::exp(y[i]) * sum;
}

struct LogSoftmaxBackward {
  template <class T>
  static void rows(const Device& device, int64_t rows, int64_t n, const T* y, const T* dy, T* dx) {
    for_row_groups(device, rows, n, [=](int64_t first, int64_t count) {
      for (int64_t r = first; r < first + count; ++r)
        log_softmax_grad_row(n, y + r * n, dy + r * n, dx + r * n);
    });
  }
};

// Columns of [outer, n, inner] as rows of [outer * inner, n], and back.
template <class T>
void gather_columns(const Device& device, const Around& a, const T* from, T* rows) {
  device.pool().parallel_for(a.columns(), map_grain / (a.n + 1) + 1, [=](int64_t b, int64_t e) {
    for (int64_t c = b; c < e; ++c)
      for (int64_t k = 0; k < a.n; ++k) rows[c * a.n + k] = from[a.first(c) + k * a.inner];
  });
}
template <class T>
void scatter_columns(const Device& device, const Around& a, const T* rows, T* to) {
  device.pool().parallel_for(a.columns(), map_grain / (a.n + 1) + 1, [=](int64_t b, int64_t e) {
    for (int64_t c = b; c < e; ++c)
      for (int64_t k = 0; k < a.n; ++k) to[a.first(c) + k * a.inner] = rows[c * a.n + k];
  });
}

// F over the rows along an axis: directly where they are rows in memory.
template <class F, class T, class... In>
void along_axis(const Device& device, Scratch& scratch, const Around& a, T* out, const In*... in) {
  const int64_t rows = a.columns(), size = rows * a.n;
  if (size == 0) return;
  if (a.inner == 1) return F::rows(device, rows, a.n, in..., out);
  T* memory = scratch.get<T>(size * static_cast<int64_t>(sizeof...(in)));
  int64_t at = 0;
  const auto as_rows = [&](const T* from) -> const T* {
    T* to = memory + size * at++;
    gather_columns(device, a, from, to);
    return to;
  };
  const T* given[] = {as_rows(in)...};
  if constexpr (sizeof...(in) == 1)
    F::rows(device, rows, a.n, given[0], memory);
  else
    F::rows(device, rows, a.n, given[0], given[1], memory);
  scatter_columns(device, a, memory, out);
}

}  // namespace

template <class T>
void softmax(const Device& device, Scratch& scratch, const Around& a, const T* x, T* out) {
  along_axis<SoftmaxForward>(device, scratch, a, out, x);
}
template <class T>
void log_softmax(const Device& device, Scratch& scratch, const Around& a, const T* x, T* out) {
  along_axis<LogSoftmaxForward>(device, scratch, a, out, x);
}
template <class T>
void softmax_grad(const Device& device, Scratch& scratch, const Around& a, const T* y, const T* dy,
                  T* dx) {
  along_axis<SoftmaxBackward>(device, scratch, a, dx, y, dy);
}
template <class T>
void log_softmax_grad(const Device& device, Scratch& scratch, const Around& a, const T* y,
                      const T* dy, T* dx) {
  along_axis<LogSoftmaxBackward>(device, scratch, a, dx, y, dy);
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
