// One functor over whole arrays: vectorised for the CPU at hand and split over the pool.
#pragma once

#include <cstdint>

#include "kernels/simd.h"
#include "tensor/device.h"

#ifndef PS_GPU

namespace paddle {

// Below this many elements a second thread costs more than it saves.
inline constexpr int64_t map_grain = 16384;

namespace detail {

struct MapLoop {
  template <class F, class Out, class... In>
  PS_INLINE void operator()(int64_t begin, int64_t end, const F& given, Out* out,
                            const In*... in) const {
    const F f = given;  // a copy cannot alias `out`, so its members stay in registers
    PS_IVDEP
    for (int64_t i = begin; i < end; ++i) out[i] = f(in[i]...);
  }
};

struct UpdateLoop {
  template <class F, class... T>
  PS_INLINE void operator()(int64_t begin, int64_t end, const F& given, T*... arrays) const {
    const F f = given;
    PS_IVDEP
    for (int64_t i = begin; i < end; ++i) f(arrays[i]...);
  }
};

}  // namespace detail

// out[i] = f(in0[i], in1[i], ...). `out` may be one of the inputs, but arrays must not overlap
// otherwise. The functor must depend on its arguments alone: iterations run in any order.
template <class F, class Out, class... In>
void map(const Device& device, int64_t n, const F& f, Out* out, const In*... in) {
  device.pool().parallel_for(n, map_grain, [&](int64_t begin, int64_t end) {
    run_loop<worth_clones<Out, In...>>(detail::MapLoop{}, begin, end, f, out, in...);
  });
}

// f(a[i], b[i], ...) for each i, where f takes references and writes what it likes: several
// outputs, or parameters and their moments in place. An array given as `const T*` is passed by
// const reference.
template <class F, class... T>
void update(const Device& device, int64_t n, const F& f, T*... arrays) {
  device.pool().parallel_for(n, map_grain, [&](int64_t begin, int64_t end) {
    run_loop<worth_clones<T...>>(detail::UpdateLoop{}, begin, end, f, arrays...);
  });
}

}  // namespace paddle

#endif

#ifdef PS_GPU
#include "kernels/cuda/map.h"
#endif
