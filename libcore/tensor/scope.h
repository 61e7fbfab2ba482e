// Where variables live between runs: parameters, optimizer state, counters.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <typeindex>
#include <utility>
#include <vector>

#include "tensor/accelerator.h"
#include "tensor/tensor.h"

namespace paddle {

// A tensor of the host that copies of a GPU are made of or to in every step. Keeps the tensor,
// whose memory may not go while it is pinned.
class PinnedTensor {
 public:
  PinnedTensor() = default;
  PinnedTensor(PinnedTensor&& other) noexcept
      : device_(std::move(other.device_)), tensor_(std::exchange(other.tensor_, {})) {}
  PinnedTensor& operator=(PinnedTensor&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(tensor_, other.tensor_);
    return *this;
  }
  ~PinnedTensor() {
    if (tensor_.empty()) return;
    const auto alone = device_->lock();
    device_->unpin(tensor_.raw());
  }

  // This tensor in place of the one before.
  void hold(const std::shared_ptr<Accelerator>& device, const Tensor& tensor) {
    if (device == device_ && tensor.raw() == tensor_.raw()) return;
    *this = PinnedTensor();
    if (tensor.empty() || tensor.bytes() == 0) return;
    device_ = device;
    tensor_ = tensor;
    const auto alone = device_->lock();
    device_->pin(tensor_.raw(), tensor_.bytes());
  }

 private:
  std::shared_ptr<Accelerator> device_;
  Tensor tensor_;
};

// The value of a variable: a tensor, or selected rows where `rows` is set. A plan that runs on a
// GPU keeps the tensor's elements there (`device`), and then those in the tensor may be old.
struct Variable {
  Tensor tensor;
  std::unique_ptr<SelectedRows> rows;
  // Where the elements are does not change the value.
  mutable DeviceMemory device;
  mutable PinnedTensor pinned;
  mutable Copies current;
};

// Brings the tensor's elements back from the GPU if they are newer there.
inline void bring_to_host(const Variable& v) {
  if (v.current.host) return;
  if (v.tensor.bytes() > 0) {
    const auto alone = v.device.device().lock();
    v.device.device().download(v.tensor.raw(), v.device.data(), v.tensor.bytes());
  }
  v.current.host = true;
}

// The same, for a caller that may write them: before a plan next reads them on the GPU, they are
// sent there.
inline void take_to_host(const Variable& v) {
  if (v.device.empty()) return;
  bring_to_host(v);
  v.current.device = false;
}

// Not thread safe; one scope belongs to one executor at a time. A caller that gets a variable may
// read and write its tensor until the next run of a plan: what is on a GPU comes back, and is sent
// there again when it is needed there.
class Scope {
 public:
  Scope() : id_(++last_id_) {}
  Scope(Scope&& other) noexcept
      : id_(std::exchange(other.id_, ++last_id_)),
        vars_(std::move(other.vars_)),
        parts_(std::move(other.parts_)) {}
  Scope& operator=(Scope&&) = delete;

  // No two scopes of a process have the same: an address may be used again, and plans are kept by
  // this.
  uint64_t id() const { return id_; }
  // The variable, created empty where there is none. References stay good for the scope's life.
  Variable& var(const std::string& name) { return on_host(vars_[name]); }
  Variable* find(std::string_view name) {
    const auto it = vars_.find(name);
    return it == vars_.end() ? nullptr : &on_host(it->second);
  }
  const Variable* find(std::string_view name) const {
    const auto it = vars_.find(name);
    return it == vars_.end() ? nullptr : &on_host(it->second);
  }
  // The tensor of a variable; throws Error(config) where it has no value yet.
  const Tensor& tensor(std::string_view name) const {
    const Variable* v = find(name);
    require(v && !v->tensor.empty(), Error::Kind::config, "the variable '", name, "' has no value");
    return v->tensor;
  }
  void erase(std::string_view name) {
    const auto it = vars_.find(name);
    if (it != vars_.end()) vars_.erase(it);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& [name, value] : vars_) out.push_back(name);
    return out;
  }

  // What else lives as long as the variables (the rows of sparse tables): one object of a type,
  // made when it is first asked for.
  template <class T>
  T& part() {
    std::shared_ptr<void>& p = parts_[typeid(T)];
    if (!p) p = std::make_shared<T>();
    return *static_cast<T*>(p.get());
  }
  template <class T>
  const T* find_part() const {
    const auto it = parts_.find(typeid(T));
    return it == parts_.end() ? nullptr : static_cast<const T*>(it->second.get());
  }

 private:
  template <class V>
  static V& on_host(V& v) {
    take_to_host(v);
    return v;
  }

  static inline std::atomic<uint64_t> last_id_{0};
  uint64_t id_;
  std::map<std::string, Variable, std::less<>> vars_;
  std::map<std::type_index, std::shared_ptr<void>> parts_;
};

}  // namespace paddle
