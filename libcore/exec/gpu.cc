#include "exec/gpu.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>

#include "base/build_info.h"
#include "base/log.h"
#include "ops/kernel_choice.h"

namespace paddle {
namespace {

namespace fs = std::filesystem;

std::string module_name(GpuKind kind) {
  return kind == GpuKind::real ? "libpaddle_cuda.so" : "libpaddle_cuda_emulated.so";
}

// Where the program or the Python extension lies that has this code.
fs::path own_directory() {
  Dl_info own = {};
  std::error_code failed;
  const bool extension = dladdr(reinterpret_cast<const void*>(&module_name), &own) != 0 &&
                         own.dli_fname != nullptr &&
                         std::string_view(own.dli_fname).ends_with(".so");
  return fs::canonical(extension ? own.dli_fname : "/proc/self/exe", failed).parent_path();
}

// Beside the program, where it is installed, or in the build directory of the program, the test or
// the extension.
fs::path find_module(const std::string& name) {
  const fs::path own = own_directory();
  std::error_code failed;
  for (const char* directory :
       {".", "../lib/paddle", "../libcore/kernels/cuda", "../../libcore/kernels/cuda"})
    if (fs::exists(own / directory / name, failed)) return own / directory / name;
  return {};
}

struct Loaded {
  const GpuModule* module = nullptr;
  std::string problem;
};

// A module stays loaded: its code is needed as long as memory of its device is.
Loaded load(GpuKind kind) {
  const std::string name = module_name(kind);
  const fs::path path = find_module(name);
  if (path.empty())
    return {nullptr,
            text("there is no ", name, " beside the program (a build with -Dcuda=enabled has it)")};
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) return {nullptr, text("cannot load ", path.string(), ": ", dlerror())};
  const auto get = reinterpret_cast<GetGpuModule>(dlsym(library, gpu_module_symbol));
  if (get == nullptr) return {nullptr, path.string() + " is no module of GPU kernels"};
  const GpuModule* module = get();
  if (std::string(module->version) != version)
    return {nullptr, text(path.string(), " is of version ", module->version,
                          " and this program of ", version, ": install both from one build")};
  return {module, ""};
}

const Loaded& loaded(GpuKind kind) {
  if (kind == GpuKind::emulated) {
    static const Loaded emulated = load(GpuKind::emulated);
    return emulated;
  }
  static const Loaded real = load(GpuKind::real);
  return real;
}

}  // namespace

GpuKind gpu_kind(const std::string& name) {
  require(name.empty() || name == "emulated", Error::Kind::config, "PADDLE_CUDA_DEVICE is '", name,
          "'; it can be 'emulated', or not set for a real GPU");
  return name.empty() ? GpuKind::real : GpuKind::emulated;
}

int count_gpus(GpuKind kind, std::string& why) {
  const Loaded& l = loaded(kind);
  why = l.problem;
  return l.module == nullptr ? 0 : l.module->count(why);
}

bool has_gpu_module(GpuKind kind) { return loaded(kind).module != nullptr; }

// What depends on an op's attributes (on_host) is left out: its other forms have a kernel.
GpuOps gpu_ops(GpuKind kind) {
  const Loaded& l = loaded(kind);
  require(l.module != nullptr, Error::Kind::config,
          "cannot look into the kernels for GPUs: ", l.problem);
  GpuOps out;
  std::vector<std::string> types = op_types();
  std::sort(types.begin(), types.end());
  for (const std::string& type : types) {
    const OpDef& def = op_def(type);
    if (def.bind == nullptr) continue;  // never runs as it is
    Op plain{.type = type, .attrs = def.attrs};
    const bool runs = l.module->find_op(type) != nullptr && !(def.on_host && def.on_host(plain));
    (runs ? out.with_kernel : out.without).push_back(type);
  }
  return out;
}

std::shared_ptr<Gpu> open_gpu(GpuKind kind, int index, const std::string& on_cpu,
                              const GpuOptions& options) {
  std::string why;
  const int count = count_gpus(kind, why);
  require(count > 0, Error::Kind::config, "cannot compute on a GPU: ", why,
          "; compute on the CPU with ", on_cpu);
  const Loaded& l = loaded(kind);
  auto gpu = std::make_shared<Gpu>(*l.module, l.module->open(index, host_products(), options));
  log_info(text("computing on GPU ", index, " (", gpu->device()->name(), ")"));
  return gpu;
}

void Gpu::report_on_cpu(const std::set<std::string>& types) {
  const std::lock_guard lock(mutex_);
  std::string list;
  for (const std::string& type : types)
    if (reported_.insert(type).second) list += (list.empty() ? "" : ", ") + type;
  if (!list.empty())
    log_info("these ops have no kernel for the GPU and run on the CPU, between copies: " + list);
}

}  // namespace paddle
