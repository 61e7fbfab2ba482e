// The loops of kernels/strided.h on a GPU.
#pragma once

#include "kernels/cuda/launch.h"

namespace paddle {
namespace cuda {

struct StridedAt {
  Strided nest;
  template <class F>
  PS_HD void operator()(int64_t i, const F& f) const {
    int64_t a = 0, b = 0;
    nest.locate(i, a, b);
    f(a, b);
  }
};

struct StridedCopyAt {
  Strided nest;
  template <class T>
  PS_HD void operator()(int64_t i, T* to, const T* from) const {
    int64_t a = 0, b = 0;
    nest.locate(i, a, b);
    to[a] = from[b];
  }
};

}  // namespace cuda

template <class F>
void strided_each(const Device& device, const Strided& nest, const F& f) {
  cuda::launch(device, nest.total(), cuda::StridedAt{nest}, f);
}

template <class T>
void strided_copy_as(const Device& device, const Strided& nest, T* to, const T* from) {
  cuda::launch(device, nest.total(), cuda::StridedCopyAt{nest}, to, from);
}

}  // namespace paddle
