// kernels/map.h and kernels/each.h on a GPU.
#pragma once

#include "kernels/cuda/launch.h"

namespace paddle {
namespace cuda {

struct MapAt {
  template <class F, class Out, class... In>
  PS_HD void operator()(int64_t i, const F& f, Out* out, const In*... in) const {
    out[i] = f(in[i]...);
  }
};

struct UpdateAt {
  template <class F, class... T>
  PS_HD void operator()(int64_t i, const F& f, T*... arrays) const {
    f(arrays[i]...);
  }
};

struct EachAt {
  template <class F>
  PS_HD void operator()(int64_t i, const F& f) const {
    f(i);
  }
};

}  // namespace cuda

template <class F, class Out, class... In>
void map(const Device& device, int64_t n, const F& f, Out* out, const In*... in) {
  cuda::launch(device, n, cuda::MapAt{}, f, out, in...);
}

template <class F, class... T>
void update(const Device& device, int64_t n, const F& f, T*... arrays) {
  cuda::launch(device, n, cuda::UpdateAt{}, f, arrays...);
}

template <class F>
void each(const Device& device, int64_t n, int64_t /*work*/, const F& f) {
  cuda::launch(device, n, cuda::EachAt{}, f);
}

}  // namespace paddle
