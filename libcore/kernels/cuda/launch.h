// One functor over whole arrays on a GPU: what kernels/map.h is for the CPU. Read by nvcc only. The
// functors are the same; kernels/simd.h makes them __host__ __device__.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>

#include "base/error.h"

namespace paddle::cuda {
namespace detail {

inline constexpr int block_threads = 256;
// Enough blocks to fill any GPU; each thread then takes several elements.
inline constexpr int64_t most_blocks = 65535;

// Elements in strides of the whole grid, so that neighbours in a warp are neighbours in memory.
template <class F, class Out, class... In>
__global__ void map_kernel(int64_t n, F f, Out* out, const In*... in) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step)
    out[i] = f(in[i]...);
}

template <class F, class... T>
__global__ void update_kernel(int64_t n, F f, T*... arrays) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step)
    f(arrays[i]...);
}

inline unsigned blocks_for(int64_t n) {
  return static_cast<unsigned>(std::min(most_blocks, (n + block_threads - 1) / block_threads));
}

inline void check_launch() {
  const cudaError_t e = cudaGetLastError();
  require(e == cudaSuccess, Error::Kind::io, "the GPU refused a kernel: ", cudaGetErrorString(e));
}

}  // namespace detail

// out[i] = f(in0[i], in1[i], ...), behind what `stream` has to do already. Pointers are device
// memory; `out` may be one of the inputs.
template <class F, class Out, class... In>
void launch_map(cudaStream_t stream, int64_t n, const F& f, Out* out, const In*... in) {
  if (n <= 0) return;
  detail::map_kernel<<<detail::blocks_for(n), detail::block_threads, 0, stream>>>(n, f, out, in...);
  detail::check_launch();
}

// f(a[i], b[i], ...) for each i, where f takes references and writes what it likes.
template <class F, class... T>
void launch_update(cudaStream_t stream, int64_t n, const F& f, T*... arrays) {
  if (n <= 0) return;
  detail::update_kernel<<<detail::blocks_for(n), detail::block_threads, 0, stream>>>(n, f,
                                                                                     arrays...);
  detail::check_launch();
}

}  // namespace paddle::cuda
