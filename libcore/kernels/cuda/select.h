// kernels/select.h on a GPU: one thread for each row or column.
#pragma once

#include "kernels/cuda/memory.h"

namespace paddle {
namespace cuda {

template <class Id, class T>
struct OneHotAt {
  int64_t depth;
  PS_HD void operator()(int64_t i, const Id* ids, T* out) const {
    out[i] = static_cast<int64_t>(ids[i / depth]) == i % depth ? T(1) : T(0);
  }
};

template <class Id>
struct OutsideDepth {
  const Id* ids;
  int64_t depth;
  PS_HD bool operator()(int64_t i) const { return ids[i] < 0 || ids[i] >= depth; }
};

template <bool largest>
struct ArgExtreme {
  Around a;
  template <class T>
  PS_HD void operator()(int64_t c, const T* x, int64_t* out) const {
    const T* column = x + a.first(c);
    int64_t best = 0;
    for (int64_t k = 1; k < a.n; ++k) {
      const T found = column[k * a.inner], so_far = column[best * a.inner];
      if (largest ? found > so_far : found < so_far) best = k;
    }
    out[c] = best;
  }
};

struct TopOfRow {
  int64_t n, k;
  template <class T>
  PS_HD void operator()(int64_t row, const T* x, T* values, int64_t* indices) const {
    detail::top_of_row(x + row * n, n, k, values + row * k, indices + row * k);
  }
};

struct TopGradAt {
  int64_t n, k;
  template <class T>
  PS_HD void operator()(int64_t i, const int64_t* indices, const T* dy, T* dx) const {
    dx[i / k * n + indices[i]] = dy[i];
  }
};

}  // namespace cuda

template <class Id, class T>
int64_t one_hot(const Device& device, int64_t n, int64_t depth, const Id* ids, T* out) {
  cuda::launch(device, n * depth, cuda::OneHotAt<Id, T>{depth}, ids, out);
  // No check: there may be a use for such ids.
  return cuda::first_where(device, n, cuda::OutsideDepth<Id>{ids, depth});
}

template <bool largest, class T>
void arg_extreme(const Device& device, const Around& a, const T* x, int64_t* out) {
  cuda::launch(device, a.columns(), cuda::ArgExtreme<largest>{a}, x, out);
}

template <class T>
void top_k(const Device& device, int64_t rows, int64_t n, int64_t k, const T* x, T* values,
           int64_t* indices) {
  cuda::launch(device, rows, cuda::TopOfRow{n, k}, x, values, indices);
}

template <class T>
void top_k_grad(const Device& device, int64_t rows, int64_t n, int64_t k, const int64_t* indices,
                const T* dy, T* dx) {
  fill(device, rows * n, dx, T(0));
  cuda::launch(device, rows * k, cuda::TopGradAt{n, k}, indices, dy, dx);
}

}  // namespace paddle
