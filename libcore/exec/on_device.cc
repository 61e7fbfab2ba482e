// Plans with a GPU. Every variable has a place in the host's memory and one in the GPU's, and a
// record of which of them hold its value. An op that has a kernel for the GPU runs there, all
// others on the CPU; before each of them, what it reads is copied to its side if it is not there.
#include <algorithm>

#include "exec/gpu.h"
#include "exec/plan.h"

namespace paddle {

namespace {
uint64_t view_bytes(const View& v) { return static_cast<uint64_t>(v.numel()) * size_of(v.dtype); }
}  // namespace

// The definition with the kernel for the GPU; null where the op runs on the CPU. Selected rows stay
// in the host's memory: their ids are read there.
const OpDef* Plan::device_op(const Step& step) const {
  if (!options_.gpu) return nullptr;
  if (step.def->on_host != nullptr && step.def->on_host(step.op)) return nullptr;
  const auto rows = [&](int v) {
    return v >= 0 && vars_[static_cast<size_t>(v)].meta.kind == VarKind::selected_rows;
  };
  if (std::any_of(step.in.begin(), step.in.end(), rows) ||
      std::any_of(step.out.begin(), step.out.end(), rows))
    return nullptr;
  return options_.gpu->find_op(step.op.type);
}

std::vector<int> Plan::reads_of(const Step& step) const {
  std::vector<int> reads;
  size_t at = 0;
  for (const auto& [slot, names] : step.op.in) {
    const auto& shapes = step.def->shape_only;
    const bool elements = std::count(shapes.begin(), shapes.end(), slot) == 0;
    for (size_t k = 0; k < names.size(); ++k, ++at)
      if (elements && step.in[at] >= 0) reads.push_back(step.in[at]);
  }
  // The values of a pull arrive in the host's memory on their own, also before it runs.
  if (step.op.type == "pull")
    for (const int v : step.out) reads.push_back(v);
  return reads;
}

void Plan::report_on_cpu() const {
  std::set<std::string> types;
  for (const Step& s : steps_)
    if (!s.on_device && s.op.type != "push" && s.op.type != "pull" && s.op.type != "await_answer")
      types.insert(s.op.type);
  options_.gpu->report_on_cpu(types);
}

// Temporaries lie in the GPU's arena as they do in the host's.
void Plan::place_on_device() {
  const std::shared_ptr<Accelerator>& device = options_.gpu->device();
  device_arena_.reserve(device, arena_bytes());
  for (PlanVar& v : vars_) {
    void* host = v.view.data;
    v.device_view = v.view;
    if (v.home == Home::temp && host != nullptr)
      v.device_view.data = static_cast<std::byte*>(device_arena_.data()) +
                           (static_cast<std::byte*>(host) - static_cast<std::byte*>(arena_.raw()));
    const size_t bytes = view_bytes(v.view);
    if (v.home == Home::feed) v.device.reserve(device, bytes);
    if (v.home == Home::feed) v.device_view.data = v.device.data();
  }
}

// The elements that shapes depend on are read by the host.
void Plan::bring_roots() {
  for (const int root : early_roots_)
    if (const PlanVar& v = vars_[static_cast<size_t>(root)]; v.variable) bring_to_host(*v.variable);
}

void Plan::begin_on_device() {
  const std::shared_ptr<Accelerator>& device = options_.gpu->device();
  for (const int f : feeds_) vars_[static_cast<size_t>(f)].current = {};
  for (const int i : exchanged_) {
    const Variable& variable = *vars_[static_cast<size_t>(i)].variable;
    variable.pinned.hold(device, variable.tensor);
  }
  for (const int i : scope_vars_) {
    PlanVar& v = vars_[static_cast<size_t>(i)];
    const Variable& variable = *v.variable;
    if (!variable.device.empty() && !variable.device.holds(device, variable.tensor.bytes()))
      bring_to_host(variable);  // its memory is about to go
    if (variable.device.reserve(device, variable.tensor.bytes())) variable.current = {};
    v.device_view.data = variable.device.data();
  }
}

void Plan::to_host(int var) {
  PlanVar& v = vars_[static_cast<size_t>(var)];
  Copies& now = current(v);
  const size_t bytes = view_bytes(v.view);
  if (!now.host && bytes > 0) {
    const auto alone = options_.gpu->device()->lock();
    options_.gpu->device()->download(v.view.data, v.device_view.data, bytes);
  }
  now.host = true;
}

void Plan::to_device(int var) {
  PlanVar& v = vars_[static_cast<size_t>(var)];
  Copies& now = current(v);
  const size_t bytes = view_bytes(v.view);
  if (!now.device && bytes > 0)
    options_.gpu->device()->upload(v.device_view.data, v.view.data, bytes);
  now.device = true;
}

uint64_t Plan::gpu_traffic() const {
  uint64_t bytes = 0;
  for (const Step& s : steps_) {
    if (!s.on_device) continue;
    for (const std::vector<int>* list : {&s.reads, &s.out})
      for (const int v : *list)
        if (v >= 0) bytes += view_bytes(vars_[static_cast<size_t>(v)].view);
  }
  return bytes;
}

uint64_t Plan::gpu_memory() const {
  uint64_t bytes = arena_bytes();
  for (const PlanVar& v : vars_)
    if (v.home != Home::temp) bytes += view_bytes(v.view);
  return bytes;
}

void Plan::run_with_gpu(const Step& step, uint64_t number, Remote* remote) {
  Accelerator& gpu = *options_.gpu->device();
  auto alone = gpu.lock();
  gpu.running(step.def->type.c_str());
  for (const int v : step.reads) step.on_device ? to_device(v) : to_host(v);
  if (step.on_device) {
    step.kernel(Run(step.args.data(), Device(device_.pool(), gpu), device_scratch_, step.seed,
                    number, remote));
  } else {
    alone.unlock();  // other plans go on while this one computes on the CPU, or waits for pservers
    step.kernel(Run(step.args.data(), device_, scratch_, step.seed, number, remote));
    alone.lock();
  }
  for (const int v : step.out)
    if (v >= 0) current(vars_[static_cast<size_t>(v)]) = {!step.on_device, step.on_device};
  gpu.running(nullptr);
}

}  // namespace paddle
