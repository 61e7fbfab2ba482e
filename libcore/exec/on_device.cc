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

std::set<std::string> Plan::types_on_cpu() const {
  std::set<std::string> types;
  for (const Step& s : steps_)
    if (!s.on_device && s.op.type != "push" && s.op.type != "pull" && s.op.type != "await_answer")
      types.insert(s.op.type);
  return types;
}

// Temporaries lie in the GPU's arena as they do in the host's.
void Plan::place_on_device() {
  const std::shared_ptr<Accelerator>& device = options_.gpu->device();
  replayed_.clear();
  ran_since_layout_ = false;
  device_arena_.reserve(device, arena_bytes(), "temporaries");
  for (PlanVar& v : vars_) {
    void* host = v.view.data;
    v.device_view = v.view;
    if (v.home == Home::temp && host != nullptr)
      v.device_view.data = static_cast<std::byte*>(device_arena_.data()) +
                           (static_cast<std::byte*>(host) - static_cast<std::byte*>(arena_.raw()));
    const size_t bytes = view_bytes(v.view);
    if (v.home == Home::feed) v.device.reserve(device, bytes, "feeds");
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
    if (variable.device.reserve(device, variable.tensor.bytes(), "variables"))
      variable.current = {};
    if (v.device_view.data != variable.device.data()) replayed_.clear();
    v.device_view.data = variable.device.data();
  }
  begin_replays();
}

void Plan::run_all_on_gpu(uint64_t number) {
  run_number_ = number;
  drop_pushes();
  begin_on_device();
  const std::vector<Tensor> next = std::exchange(ahead_, {});
  run_steps(number);
  bring_fetches(next);
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
  const std::shared_ptr<Accelerator>& device = options_.gpu->device();
  if (v.coming != 0) device->use(std::exchange(v.coming, 0));
  if (!now.device && bytes > 0) {
    if (v.home == Home::feed)
      v.feed.send(device, v.view.data, bytes, v.device_view.data);
    else
      device->upload(v.device_view.data, v.view.data, bytes);
  }
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

// What kernels of a step look at, and where their checks are noted.
Guard Plan::guard_of(const Step& step) const {
  return {static_cast<uint32_t*>(failed_.data()),
          first_number_ + static_cast<uint32_t>(&step - steps_.data())};
}

void Plan::run_with_gpu(const Step& step, uint64_t number, Remote* remote) {
  if (!step.on_device) return run_on_cpu(step, number, remote);
  Accelerator& gpu = *options_.gpu->device();
  const auto alone = gpu.lock();
  for (const int v : step.reads) to_device(v);
  gpu.running(step.def->type.c_str());
  {
    const GuardedBy guarded(gpu, guard_of(step));
    step.kernel(Run(step.args.data(), Device(device_.pool(), gpu), device_scratch_, step.seed,
                    number, remote));
  }
  for (const int v : step.out)
    if (v >= 0) current(vars_[static_cast<size_t>(v)]) = {false, true};
  gpu.running(nullptr);
}

// Other plans go on while this one computes on the CPU, or waits for pservers.
void Plan::run_on_cpu(const Step& step, uint64_t number, Remote* remote) {
  if (step.op.type == "push") return start_push(step);
  Accelerator& gpu = *options_.gpu->device();
  {
    const auto alone = gpu.lock();
    for (const int v : step.reads) to_host(v);
    if (step.op.type != "pull") check_replayed(true);  // what comes from pservers is no result
    gpu.running(step.def->type.c_str());
  }
  step.kernel(Run(step.args.data(), device_, scratch_, step.seed, number, remote));
  for (const int v : step.out)
    if (v >= 0) current(vars_[static_cast<size_t>(v)]) = {true, false};
  const auto alone = gpu.lock();
  gpu.running(nullptr);
  if (step.op.type == "pull") send_value(step);
}

}  // namespace paddle
