// A device with memory of its own, which the host cannot read: a GPU, or the emulated one. The
// module of the device implements it (graph/gpu_module.h says how that is found); what computes on
// the device are the kernels of the module.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace paddle {

// What was asked of a device so far. What a recording starts counts where it is replayed.
struct DeviceWork {
  uint64_t launches = 0, products = 0, product_flops = 0;
  uint64_t uploads = 0, uploaded = 0, downloads = 0, downloaded = 0;  // calls and bytes
  uint64_t pinned = 0;                                                // bytes, at present
  uint64_t replays = 0, replayed = 0;  // recordings, and the launches and products in them
  uint64_t waits = 0;                  // of the host, for what was started
};

// What was started between begin_recording() and end_recording(): on a GPU a CUDA graph.
class Recording {
 public:
  virtual ~Recording() = default;
  DeviceWork work;  // of one replay
};

// Thrown while a recording is made by what cannot be in one: it needs the host.
class NotRecordable : public std::exception {
 public:
  const char* what() const noexcept override { return "needs the host"; }
};

// What kernels look at before they begin, in the device's memory: with a number there they do
// nothing. Checks that were recorded write the number of their op to it (Guard::op).
struct Guard {
  uint32_t* failed = nullptr;
  uint32_t op = 0;
};

// A copy that goes on while the device computes.
using CopyTicket = uint64_t;

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
  // The same for a purpose, which messages name where there is not enough.
  void* take(size_t bytes, const char* purpose) {
    try {
      void* memory = allocate(bytes);
      held_[purpose] += bytes;
      return memory;
    } catch (Error& e) {
      if (e.kind() == Error::Kind::config) throw e.within("taking memory for ", purpose, holders());
      throw;
    }
  }
  void give_back(void* memory, size_t bytes, const char* purpose) noexcept {
    held_[purpose] -= bytes;
    ++releases_;
    release(memory);
  }
  // How often memory was given back: what was recorded before may use memory that is gone.
  uint64_t releases() const { return releases_; }
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

  // ---- copies beside the computing, of pinned memory
  // Into the host's memory, once all that was started before is done; both memories stay as they
  // are until the copy has ended.
  virtual CopyTicket start_download(void* to, const void* from, size_t bytes) = 0;
  // Into memory that nothing uses which was started before and goes on.
  virtual CopyTicket start_upload(void* to, const void* from, size_t bytes) = 0;
  // What is started from now on begins when the copy has ended.
  virtual void use(CopyTicket copy) = 0;
  virtual bool ended(CopyTicket copy) = 0;
  virtual void finish(CopyTicket copy) = 0;  // the host waits

  // ---- recordings: what is started in between is not run but kept. Copies from and to the host,
  // wait() and new memory throw NotRecordable.
  virtual void begin_recording() = 0;
  virtual std::unique_ptr<Recording> end_recording() = 0;
  virtual void drop_recording() noexcept = 0;
  virtual void replay(const Recording& recording) = 0;
  bool recording() const { return recording_; }

  // ---- ops, for messages and for checks
  // The op that runs from now on; null for none. The text must outlive its use.
  virtual void running(const char* op) noexcept = 0;
  // `count` numbers for ops, which no other plan has; from 1 on.
  uint32_t number_ops(uint32_t count) { return std::exchange(next_op_, next_op_ + count); }
  // The number of the op of the last kernel that began, also after the device has failed; 0 where
  // that is not known.
  virtual uint32_t last_begun() const noexcept = 0;
  Guard guard;

  DeviceWork work;  // counted by the module

 protected:
  bool recording_ = false;

 private:
  std::string holders() const {
    std::string out;
    for (const auto& [purpose, bytes] : held_)
      if (bytes > 0)
        out += text(out.empty() ? ", where it holds " : ", ", bytes, " bytes of ", purpose);
    return out;
  }

  std::recursive_mutex one_thread_;
  std::map<std::string_view, size_t> held_;  // bytes by purpose
  uint64_t releases_ = 0;
  uint32_t next_op_ = 1;
};

// Memory of an accelerator, given back with this object. Keeps the accelerator, which its owner
// shares with all of its memory.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(DeviceMemory&& other) noexcept
      : device_(std::move(other.device_)),
        data_(std::exchange(other.data_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)),
        purpose_(other.purpose_) {}
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(purpose_, other.purpose_);
    return *this;
  }
  ~DeviceMemory() {
    if (data_ == nullptr) return;
    const auto alone = device_->lock();
    device_->give_back(data_, bytes_, purpose_);
  }

  // At least so many bytes of this device; whether the memory is new, and so without content. The
  // text of the purpose outlives the memory.
  bool reserve(const std::shared_ptr<Accelerator>& device, size_t bytes,
               const char* purpose = "working memory") {
    if (holds(device, bytes)) return false;
    *this = DeviceMemory();  // before the new memory is asked for
    const auto alone = device->lock();
    data_ = device->take(bytes > 0 ? bytes : 1, purpose);
    device_ = device;
    bytes_ = bytes > 0 ? bytes : 1;
    purpose_ = purpose;
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
  const char* purpose_ = "";
};

// Which of a value's two memories hold it as it is now.
struct Copies {
  bool host = true, device = false;
};

}  // namespace paddle
