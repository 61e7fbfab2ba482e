// The device as the kernels of kernels/cuda see it. They are compiled twice: by nvcc for a GPU
// (cuda_gpu.cc), and by the host's compiler for the emulated device (emulated_gpu.cc), where a
// launch is a loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/error.h"
#include "tensor/device.h"

namespace paddle::cuda {

// c = alpha * op(a) * op(b) + beta * c, as kernels/blas.h says; all in the device's memory.
template <class T>
struct Product {
  bool trans_a, trans_b;
  int64_t m, n, k;
  T alpha;
  const T* a;
  int64_t lda;
  const T* b;
  int64_t ldb;
  T beta;
  T* c;
  int64_t ldc;
};

class Gpu : public Accelerator {
 public:
  virtual void multiply(const Device& device, const Product<float>& p) = 0;
  virtual void multiply(const Device& device, const Product<double>& p) = 0;

  void count_upload(size_t bytes) {
    ++work.uploads;
    work.uploaded += bytes;
  }
  void count_download(size_t bytes) {
    ++work.downloads;
    work.downloaded += bytes;
  }

  // Memory of the device for one call of a kernel header, overwritten by the next one.
  template <class T>
  T* workspace(int64_t count) {
    const size_t bytes = static_cast<size_t>(count) * sizeof(T);
    if (bytes > workspace_bytes_) {
      if (workspace_ != nullptr) release(workspace_);
      workspace_ = nullptr;
      workspace_bytes_ = 0;
      workspace_ = allocate(2 * bytes);
      workspace_bytes_ = 2 * bytes;
    }
    return static_cast<T*>(workspace_);
  }

#ifdef __CUDACC__
  void* stream() const { return stream_; }  // a cudaStream_t
#else
  // Runs later, behind what was enqueued before; the device's memory is accessible then.
  virtual void enqueue(std::function<void()> work) = 0;
  // Throws Error(io) where a kernel was given memory that is not the device's.
  virtual void check_argument(const void* p) const = 0;
  // The same for the pointers among the members of a functor.
  virtual void check_members(const void* object, size_t bytes) const = 0;
#endif

 protected:
  void* stream_ = nullptr;
  void* workspace_ = nullptr;

 private:
  size_t workspace_bytes_ = 0;
};

inline Gpu& gpu_of(const Device& device) { return static_cast<Gpu&>(device.accelerator()); }

}  // namespace paddle::cuda
