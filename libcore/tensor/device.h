// Where kernels run: every call of kernels/ takes a device, and so no op knows whose memory and
// threads it uses. There are two kinds. The CPU is a pool of threads, and memory that the host may
// read and write; a GPU is an accelerator, whose kernels are in a module of their own.
#pragma once

#include <memory>
#include <string>

#include "base/thread_pool.h"
#include "tensor/accelerator.h"
#include "tensor/tensor.h"

namespace paddle {

class Device {
 public:
  // The CPU, with the threads of `pool`, which must outlive the device. Not explicit: whoever has a
  // pool has a device.
  Device(ThreadPool& pool) : pool_(&pool) {}
  // A GPU, which must outlive the device too; `pool` is for what is computed beside it.
  Device(ThreadPool& pool, Accelerator& accelerator) : pool_(&pool), accelerator_(&accelerator) {}

  // For the loops of kernels/ and optim/; ops never ask for it (scripts/lint).
  ThreadPool& pool() const { return *pool_; }
  // For the kernels of a GPU, which run on nothing else.
  Accelerator& accelerator() const { return *accelerator_; }

 private:
  ThreadPool* pool_;
  Accelerator* accelerator_ = nullptr;
};

// How a GPU computes.
struct GpuOptions {
  bool tf32 = false;  // products of float32 with factors of 10 bits after the point
  // What tests want of an emulated one, as "memory=1000000,fail=20": little memory in all, a kernel
  // of this number that fails while it runs, or is refused, and the seed of what runs late.
  std::string emulated = {};
};

// The CPU's matrix products (kernels/blas.h), for an accelerator that is emulated.
struct HostProducts {
  void (*f32)(const Device&, bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k,
              float alpha, const float* a, int64_t lda, const float* b, int64_t ldb, float beta,
              float* c, int64_t ldc);
  void (*f64)(const Device&, bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k,
              double alpha, const double* a, int64_t lda, const double* b, int64_t ldb, double beta,
              double* c, int64_t ldc);
};

// Memory of a device for intermediate results of one call, grown when needed and then kept.
class Scratch {
 public:
  Scratch() = default;  // of the CPU
  explicit Scratch(std::shared_ptr<Accelerator> accelerator)
      : accelerator_(std::move(accelerator)) {}

  // Other memory of the same device.
  Scratch another() const { return Scratch(accelerator_); }

  template <class T>
  T* get(int64_t count) {
    return static_cast<T*>(bytes(static_cast<size_t>(count) * sizeof(T)));
  }

 private:
  void* bytes(size_t n);
  Tensor memory_;
  std::shared_ptr<Accelerator> accelerator_;  // as DeviceMemory says; null on the CPU
  DeviceMemory device_memory_;
};

}  // namespace paddle
