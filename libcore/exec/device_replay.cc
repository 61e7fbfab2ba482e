// Steps that a GPU replays: ops that follow each other and need nothing of the host are recorded
// once, when their memory is there, and then started together. A recording holds as long as shapes
// and memory are the same. Which ops need the host turns out when they are recorded: what they ask
// for throws NotRecordable, and from then on they run by themselves.
#include <algorithm>

#include "base/interrupt.h"
#include "exec/gpu.h"
#include "exec/plan.h"

namespace paddle {

bool Plan::can_replay() const {
  return options_.replay && !options_.profile && !options_.check_nan_inf;
}

// At the beginning of a run.
void Plan::begin_replays() {
  const std::shared_ptr<Accelerator>& device = options_.gpu->device();
  const auto alone = device->lock();
  if (first_number_ == 0) first_number_ = device->number_ops(static_cast<uint32_t>(steps_.size()));
  if (failed_on_host_.empty()) {
    failed_on_host_ = Tensor::of<int32_t>({1}, {0});
    pinned_failed_.hold(device, failed_on_host_);
  }
  if (failed_.reserve(device, sizeof(uint32_t), "checks"))
    device->upload(failed_.data(), failed_on_host_.raw(), sizeof(uint32_t));
  if (device->releases() != releases_) {
    replayed_.clear();
    ran_since_layout_ = false;
  }
  unchecked_ = false;
}

void Plan::run_gpu_steps(uint64_t number) {
  const bool replays = can_replay() && ran_since_layout_;
  if (!ran_since_layout_)
    for (Step& s : steps_) {
      // A kernel may look at the offsets of a sequence, which change from batch to batch.
      const auto in_sequences = [](const View* v) { return v->lod != nullptr; };
      s.replayable = s.on_device && std::none_of(s.args.begin(), s.args.end(), in_sequences);
    }
  for (size_t i = 0; i < steps_.size();) {
    if (replays && steps_[i].replayable) {
      i = run_replayed(i, number);
    } else {
      run_step(steps_[i], number);
      ++i;
    }
    send_pushes(number, options_.remote, false);
  }
  send_pushes(number, options_.remote, true);
  if (!ran_since_layout_) releases_ = options_.gpu->device()->releases();
  ran_since_layout_ = true;
}

// Returns the first step behind those that ran.
size_t Plan::run_replayed(size_t first, uint64_t number) {
  check_interrupt();
  Accelerator& gpu = *options_.gpu->device();
  const auto alone = gpu.lock();
  const auto known = replayed_.find(first);
  const Replayed* r = nullptr;
  if (known != replayed_.end() && gpu.releases() == releases_)
    r = &known->second;
  else
    r = record(first, number);
  if (r == nullptr) {
    run_step(steps_[first], number);
    return first + 1;
  }
  try {
    for (const int v : r->reads) to_device(v);
    gpu.replay(*r->recording);
    gpu.running(nullptr);
  } catch (Error& e) {
    add_failed_op(e, nullptr);
    throw e.within("starting the recording of ", op_with_origin(steps_[first].op), " and ",
                   r->end - first - 1, " more ops");
  }
  unchecked_ = true;
  for (const int v : r->writes) current(vars_[static_cast<size_t>(v)]) = {false, true};
  return r->end;
}

// Null where the step needs the host.
const Plan::Replayed* Plan::record(size_t first, uint64_t number) {
  Accelerator& gpu = *options_.gpu->device();
  if (gpu.releases() != releases_) replayed_.clear();
  const auto ends = std::find_if(steps_.begin() + static_cast<ptrdiff_t>(first), steps_.end(),
                                 [](const Step& s) { return !s.replayable; });
  auto end = static_cast<size_t>(ends - steps_.begin());
  Replayed made;
  bool recorded = false;
  while (end > first && !recorded) {
    releases_ = gpu.releases();
    recorded = record_steps(first, end, number, made);
    if (gpu.releases() != releases_) replayed_.clear();  // they may use what was given back
  }
  if (!recorded) return nullptr;
  made.end = end;
  return &(replayed_[first] = std::move(made));
}

// False where a step turned out to need the host: `end` is that step then.
bool Plan::record_steps(size_t first, size_t& end, uint64_t number, Replayed& made) {
  Accelerator& gpu = *options_.gpu->device();
  made.reads.clear();
  made.writes.clear();
  std::vector<bool> written(vars_.size(), false);
  for (size_t i = first; i < end; ++i) {
    for (const int v : steps_[i].reads)
      if (!written[static_cast<size_t>(v)]) made.reads.push_back(v);
    for (const int v : steps_[i].out) {
      if (v < 0 || written[static_cast<size_t>(v)]) continue;
      written[static_cast<size_t>(v)] = true;
      made.writes.push_back(v);
    }
  }
  for (const int v : made.reads) to_device(v);
  const Device device(device_.pool(), gpu);
  gpu.begin_recording();
  const Step* running = nullptr;
  bool needs_host = false;
  try {
    for (size_t i = first; i < end && !needs_host; ++i) {
      running = &steps_[i];
      gpu.running(running->def->type.c_str());
      const GuardedBy guarded(gpu, guard_of(*running));
      const Run run(running->args.data(), device, device_scratch_, running->seed, number,
                    options_.remote);
      try {
        running->kernel(run);
        needs_host = run.asked_for_step();
      } catch (const NotRecordable&) {
        needs_host = true;
      }
    }
    gpu.running(nullptr);
    if (needs_host)
      gpu.drop_recording();
    else
      made.recording = gpu.end_recording();
  } catch (Error& e) {
    gpu.drop_recording();
    add_failed_op(e, running);
    throw e.within("running ", op_with_origin(running->op));
  }
  if (!needs_host) return true;
  end = static_cast<size_t>(running - steps_.data());
  steps_[end].replayable = false;
  return false;
}

}  // namespace paddle
