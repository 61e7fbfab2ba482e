// broadcast() of kernels/broadcast.h on a GPU.
#pragma once

#include "kernels/cuda/launch.h"

namespace paddle {
namespace cuda {

struct BroadcastAt {
  int64_t n, post;
  template <class F, class Out, class T, class... X>
  PS_HD void operator()(int64_t i, const F& f, Out* out, const T* y, const X*... x) const {
    out[i] = f(y[i / post % n], x[i]...);
  }
};

}  // namespace cuda

template <class F, class Out, class T, class... X>
void broadcast(const Device& device, const Extents& e, const F& f, Out* out, const T* y,
               const X*... x) {
  cuda::launch(device, e.numel(), cuda::BroadcastAt{e.n, e.post}, f, out, y, x...);
}

}  // namespace paddle
