// A device with memory of its own, which the host cannot read: a GPU, or the emulated one. The
// module of the device implements it (graph/gpu_module.h says how that is found); what computes on
// the device are the kernels of the module.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace paddle {

// What was asked of a device so far.
struct DeviceWork {
  uint64_t launches = 0, products = 0, product_flops = 0;
  uint64_t uploads = 0, uploaded = 0, downloads = 0, downloaded = 0;  // calls and bytes
  uint64_t pinned = 0;                                                // bytes, at present
};

// One thread at a time, which holds lock(): DeviceMemory, Scope and plans do. All calls throw
// Error(config) where the device has not enough memory and Error(io) where it fails.
class Accelerator {
 public:
  virtual ~Accelerator() = default;
  // The device for this thread alone, for whole ops; a thread may lock it again.
  [[nodiscard]] std::unique_lock<std::recursive_mutex> lock() {
    return std::unique_lock<std::recursive_mutex>(one_thread_);
  }
  virtual std::string name() const = 0;
  // Memory that is aligned as a Tensor's is; the content is undefined.
  virtual void* allocate(size_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;
  // From the host's memory, which may change as soon as the call has returned.
  virtual void upload(void* to, const void* from, size_t bytes) = 0;
  // Into the host's memory, once all that was started before is done.
  virtual void download(void* to, const void* from, size_t bytes) = 0;
  // Within the device.
  virtual void copy(void* to, const void* from, size_t bytes) = 0;
  // Memory of the host that copies are made of or to again and again: where that works, it is kept
  // in place for them until unpin(), so that the device copies by itself.
  virtual void pin(void* memory, size_t bytes) noexcept = 0;
  virtual void unpin(void* memory) noexcept = 0;
  // Returns when all that was started is done.
  virtual void wait() = 0;
  // The op that runs from now on, for messages; null for none. The text must outlive its use.
  virtual void running(const char* op) noexcept = 0;

  DeviceWork work;  // counted by the module

 private:
  std::recursive_mutex one_thread_;
};

// Memory of an accelerator, given back with this object. Keeps the accelerator, which its owner
// shares with all of its memory.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(DeviceMemory&& other) noexcept
      : device_(std::move(other.device_)),
        data_(std::exchange(other.data_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~DeviceMemory() {
    if (data_ == nullptr) return;
    const auto alone = device_->lock();
    device_->release(data_);
  }

  // At least so many bytes of this device; whether the memory is new, and so without content.
  bool reserve(const std::shared_ptr<Accelerator>& device, size_t bytes) {
    if (holds(device, bytes)) return false;
    *this = DeviceMemory();  // before the new memory is asked for
    device_ = device;
    const auto alone = device->lock();
    data_ = device->allocate(bytes > 0 ? bytes : 1);
    bytes_ = bytes;
    return true;
  }

  bool empty() const { return data_ == nullptr; }
  bool holds(const std::shared_ptr<Accelerator>& device, size_t bytes) const {
    return data_ != nullptr && device_ == device && bytes_ >= bytes;
  }
  void* data() const { return data_; }
  Accelerator& device() const { return *device_; }

 private:
  std::shared_ptr<Accelerator> device_;
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

// Which of a value's two memories hold it as it is now.
struct Copies {
  bool host = true, device = false;
};

}  // namespace paddle
