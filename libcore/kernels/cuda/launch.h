// The one way in which kernels are started: body(i, args...) for each i of [0, n), in any order and
// at the same time. Bodies are functors with a PS_HD operator(); each i writes what no other i
// reads or writes, so that nothing depends on the order and a sum has the order that its body gives
// it.
#pragma once

#include <algorithm>
#include <type_traits>

#include "kernels/cuda/gpu.h"
#include "kernels/simd.h"

#ifdef __CUDACC__
#include <cuda_runtime_api.h>
#endif

namespace paddle::cuda {

inline constexpr int block_threads = 256;
// Enough blocks to fill any GPU; each thread then takes several elements.
inline constexpr int64_t most_blocks = 65535;

inline int64_t blocks_for(int64_t n) {
  return std::min(most_blocks, (n + block_threads - 1) / block_threads);
}

#ifdef __CUDACC__

// Elements in strides of the whole grid, so that neighbours in a warp are neighbours in memory. The
// number of the op goes to the host's memory: after a failure that is all there is to read.
template <class Body, class... Args>
__global__ void run_body(Guard guard, uint32_t* progress, int64_t n, Body body, Args... args) {
  if (guard.failed != nullptr && *guard.failed != 0) return;
  if (blockIdx.x == 0 && threadIdx.x == 0) *progress = guard.op;
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step)
    body(i, args...);
}

template <class Body, class... Args>
void launch(const Device& device, int64_t n, const Body& body, Args... args) {
  if (n <= 0) return;
  ++gpu_of(device).work.launches;
  run_body<<<static_cast<unsigned>(blocks_for(n)), block_threads, 0,
             static_cast<cudaStream_t>(gpu_of(device).stream())>>>(
      gpu_of(device).guard, gpu_of(device).progress(), n, body, args...);
  const cudaError_t e = cudaGetLastError();
  require(e == cudaSuccess, Error::Kind::io, "the GPU refused a kernel: ", cudaGetErrorString(e));
}

#else

template <class Arg>
void check_argument(const Gpu& gpu, const Arg& arg) {
  static_assert(std::is_trivially_copyable_v<Arg>, "a GPU gets a copy of the bytes");
  if constexpr (std::is_pointer_v<Arg>) {
    gpu.check_argument(arg);
  } else if constexpr (std::is_class_v<Arg> && !std::is_empty_v<Arg>) {
#if __has_builtin(__builtin_clear_padding)
    Arg copy = arg;
    __builtin_clear_padding(&copy);
    gpu.check_members(&copy, sizeof copy);
#endif
  }
}

// The last block first, and of each block the last thread: no kernel may count on the order.
template <class Body, class... Args>
void launch(const Device& device, int64_t n, const Body& body, Args... args) {
  if (n <= 0) return;
  Gpu& gpu = gpu_of(device);
  ++gpu.work.launches;
  check_argument(gpu, body);
  (check_argument(gpu, args), ...);
  gpu.enqueue_kernel([=, guard = gpu.guard] {
    if (guard.failed != nullptr && *guard.failed != 0) return;
    const int64_t step = blocks_for(n) * block_threads;
    for (int64_t thread = std::min(n, step) - 1; thread >= 0; --thread)
      for (int64_t i = thread; i < n; i += step) body(i, args...);
  });
}

#endif

// What is too much for one thread and has one result is divided into so many parts, which are
// joined in order.
inline constexpr int64_t most_parts = 256;

struct Parts {
  explicit Parts(int64_t n) : n(n), count(std::clamp<int64_t>(n / 64, 1, most_parts)) {}
  PS_HD int64_t begin(int64_t part) const { return part * n / count; }
  PS_HD int64_t end(int64_t part) const { return (part + 1) * n / count; }
  int64_t n, count;
};

}  // namespace paddle::cuda
