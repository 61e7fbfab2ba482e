// The GPU that a job computes on. Its kernels are in a module, libpaddle_cuda.so, which is loaded
// when a job asks for a GPU; libpaddle_cuda_emulated.so is the same without a GPU, to test with.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graph/gpu_module.h"

namespace paddle {

// Which module: PADDLE_CUDA_DEVICE names the device.
enum class GpuKind { real, emulated };
// Throws Error(config) unless the text is "" or "emulated".
GpuKind gpu_kind(const std::string& name);

// What is started looks at this guard while the object is there.
class GuardedBy {
 public:
  GuardedBy(Accelerator& device, const Guard& guard) : device_(device) { device.guard = guard; }
  ~GuardedBy() { device_.guard = {}; }
  GuardedBy(const GuardedBy&) = delete;

 private:
  Accelerator& device_;
};

class Gpu {
 public:
  Gpu(const GpuModule& module, std::shared_ptr<Accelerator> device)
      : module_(module), device_(std::move(device)) {}

  const std::shared_ptr<Accelerator>& device() const { return device_; }
  // The definition with the kernel for the GPU, or null.
  const OpDef* find_op(std::string_view type) const { return module_.find_op(type); }
  // Logs once for each type of op that it runs on the CPU.
  void report_on_cpu(const std::set<std::string>& types);

 private:
  const GpuModule& module_;
  std::shared_ptr<Accelerator> device_;  // as DeviceMemory says
  std::mutex mutex_;
  std::set<std::string> reported_;
};

// GPU number `index`. Throws Error(config), with what to do, where there is no module, no driver or
// no such GPU; `on_cpu` is how the caller's user computes on the CPU.
std::shared_ptr<Gpu> open_gpu(GpuKind kind, int index,
                              const std::string& on_cpu = "--use_gpu=false",
                              const GpuOptions& options = {});

// Whether the module is there and can be loaded.
bool has_gpu_module(GpuKind kind);

// The types of all ops that run in a process, in two lists. Throws Error(config) where there is no
// module.
struct GpuOps {
  std::vector<std::string> with_kernel, without;
};
GpuOps gpu_ops(GpuKind kind);

// How many GPUs there are; with 0 `why` says why.
int count_gpus(GpuKind kind, std::string& why);

}  // namespace paddle
