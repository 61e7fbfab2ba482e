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

  void count_replay(const Recording& r) {
    ++work.replays;
    work.replayed += r.work.launches + r.work.products;
    work.launches += r.work.launches;
    work.products += r.work.products;
    work.product_flops += r.work.product_flops;
  }

  // Memory of the device for one call of a kernel header, overwritten by the next one.
  template <class T>
  T* workspace(int64_t count) {
    const size_t bytes = static_cast<size_t>(count) * sizeof(T);
    if (bytes > workspace_bytes_) {
      if (workspace_ != nullptr) give_back(workspace_, workspace_bytes_, working_memory);
      workspace_ = nullptr;
      workspace_bytes_ = 0;
      workspace_ = take(2 * bytes, working_memory);
      workspace_bytes_ = 2 * bytes;
    }
    return static_cast<T*>(workspace_);
  }

  // For what a recording cannot hold.
  void needs_host() const {
    if (recording_) throw NotRecordable();
  }

#ifdef __CUDACC__
  void* stream() const { return stream_; }  // a cudaStream_t
  // Memory of the host that kernels write the number of their op to.
  uint32_t* progress() const { return progress_; }
#else
  // Runs later, behind what was enqueued before; the device's memory is accessible then.
  virtual void enqueue(std::function<void()> work) = 0;
  // The same for a kernel, which may be one that fails.
  virtual void enqueue_kernel(std::function<void()> kernel) = 0;
  // Throws Error(io) where a kernel was given memory that is not the device's.
  virtual void check_argument(const void* p) const = 0;
  // The same for the pointers among the members of a functor.
  virtual void check_members(const void* object, size_t bytes) const = 0;
#endif

 protected:
  static constexpr const char* working_memory = "working memory of kernels";
  void* stream_ = nullptr;
  void* workspace_ = nullptr;
  uint32_t* progress_ = nullptr;

 private:
  size_t workspace_bytes_ = 0;
};

inline Gpu& gpu_of(const Device& device) { return static_cast<Gpu&>(device.accelerator()); }

}  // namespace paddle::cuda
