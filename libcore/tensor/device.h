// Where kernels run: every call of kernels/ takes a device, and so no op knows whose memory and
// threads it uses. Today there is one kind, the CPU: a pool of threads, and memory that the host
// may read and write. kernels/README.md says what a second kind has to implement.
#pragma once

#include "base/thread_pool.h"
#include "tensor/tensor.h"

namespace paddle {

class Device {
 public:
  // The CPU, with the threads of `pool`, which must outlive the device. Not explicit: whoever has a
  // pool has a device.
  Device(ThreadPool& pool) : pool_(&pool) {}

  // For the loops of kernels/ and optim/; ops never ask for it (scripts/lint).
  ThreadPool& pool() const { return *pool_; }

 private:
  ThreadPool* pool_;
};

// Memory of a device for intermediate results of one call, grown when needed and then kept.
class Scratch {
 public:
  template <class T>
  T* get(int64_t count) {
    return static_cast<T*>(bytes(static_cast<size_t>(count) * sizeof(T)));
  }

 private:
  void* bytes(size_t n);
  Tensor memory_;
};

}  // namespace paddle
