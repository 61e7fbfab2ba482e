// Copies of a plan that go on while its GPU computes: gradients that leave for pservers, values
// that come from them, the next batch, and what is fetched.
#include <cstring>

#include "exec/gpu.h"
#include "exec/plan.h"

namespace paddle {

namespace {
size_t bytes_of(const View& v) { return static_cast<size_t>(v.numel()) * size_of(v.dtype); }
}  // namespace

// The copy of a gradient begins behind its op; the step goes on, and the gradient is sent when it
// has come (send_pushes).
void Plan::start_push(const Step& step) {
  Accelerator& gpu = *options_.gpu->device();
  const auto alone = gpu.lock();
  PlanVar& v = vars_[static_cast<size_t>(step.in[0])];
  CopyTicket copy = 0;
  if (const size_t bytes = bytes_of(v.view); !current(v).host && bytes > 0) {
    check_replayed(false);
    copy = gpu.start_download(v.view.data, v.device_view.data, bytes);
  }
  pushes_.push_back({&step, copy});
}

// In the order of the steps: those whose gradient has come, or with `all` every one.
void Plan::send_pushes(uint64_t number, Remote* remote, bool all) {
  Accelerator& gpu = *options_.gpu->device();
  while (!pushes_.empty()) {
    const PendingPush next = pushes_.front();
    {
      const auto alone = gpu.lock();
      if (next.copy != 0 && !all && !gpu.ended(next.copy)) return;
      if (next.copy != 0) finish_copy(next.copy);
      report_failed_check();
    }
    current(vars_[static_cast<size_t>(next.step->in[0])]).host = true;
    pushes_.pop_front();
    try {
      next.step->kernel(
          Run(next.step->args.data(), device_, scratch_, next.step->seed, number, remote));
    } catch (Error& e) {
      throw e.within("running ", op_with_origin(next.step->op));
    }
  }
}

// After a step that did not come to its end: the memory is used again.
void Plan::drop_pushes() {
  const auto alone = options_.gpu->device()->lock();
  for (const PendingPush& p : pushes_)
    if (p.copy != 0) options_.gpu->device()->finish(p.copy);
  pushes_.clear();
}

// A value that has come goes to the GPU at once; what reads it waits for it there.
void Plan::send_value(const Step& pull) {
  PlanVar& v = vars_[static_cast<size_t>(pull.out[0])];
  const size_t bytes = bytes_of(v.view);
  if (!v.read_on_device || bytes == 0) return;
  v.coming = options_.gpu->device()->start_upload(v.device_view.data, v.view.data, bytes);
  current(v).device = true;
}

// All at once, through pinned memory. Also what the checks have found: nothing goes on when a run
// has ended but the copies of the next batch.
void Plan::bring_fetches(std::span<const Tensor> next) {
  const std::shared_ptr<Accelerator>& gpu = options_.gpu->device();
  const auto alone = gpu->lock();
  std::vector<std::pair<PlanVar*, CopyTicket>> copies;
  for (const int f : fetches_) {
    PlanVar& v = vars_[static_cast<size_t>(f)];
    const size_t bytes = bytes_of(v.view);
    if (current(v).host || bytes == 0) continue;
    if (v.fetched.empty() || v.fetched.bytes() < bytes)
      v.fetched = Tensor(DType::u8, {static_cast<int64_t>(bytes)});
    v.pinned.hold(gpu, v.fetched);
    copies.emplace_back(&v, gpu->start_download(v.fetched.raw(), v.device_view.data, bytes));
  }
  unchecked_ = true;  // there is one wait at the end of a step, whatever is fetched
  check_replayed(false);
  const CopyTicket checks = last_check_;
  send_ahead(next);
  for (const auto& [v, copy] : copies) {
    finish_copy(copy);
    std::memcpy(v->view.data, v->fetched.raw(), bytes_of(v->view));
    current(*v).host = true;
  }
  finish_copy(checks);
  report_failed_check();
}

// Keeps the tensors until they are fed: their memory is not used for other values meanwhile.
void Plan::send_ahead(std::span<const Tensor> next) {
  sent_ahead_.assign(next.begin(), next.end());
  for (size_t i = 0; i < next.size(); ++i) {
    PlanVar& v = vars_[static_cast<size_t>(feeds_[i])];
    if (v.read_on_device && next[i].dtype() == v.declared.dtype && next[i].bytes() > 0)
      v.feed.send_ahead(options_.gpu->device(), next[i].raw(), next[i].bytes());
  }
}

// Here a device that has failed meanwhile is noticed.
void Plan::finish_copy(CopyTicket copy) {
  try {
    options_.gpu->device()->finish(copy);
  } catch (Error& e) {
    add_failed_op(e, nullptr);
    throw e.within("waiting for a copy from the GPU");
  }
}

// Asks for what the checks of this step have found so far.
void Plan::check_replayed(bool wait) {
  if (!unchecked_) return;
  Accelerator& gpu = *options_.gpu->device();
  last_check_ = gpu.start_download(failed_on_host_.raw(), failed_.data(), sizeof(uint32_t));
  unchecked_ = false;
  if (!wait) return;
  finish_copy(last_check_);
  report_failed_check();
}

// The kernels behind a failed check did nothing, so the op finds its inputs as they were, and says
// what is wrong with them.
void Plan::report_failed_check() {
  auto* found = static_cast<volatile uint32_t*>(failed_on_host_.raw());
  const uint32_t op = *found;
  if (op == 0) return;
  Accelerator& gpu = *options_.gpu->device();
  gpu.wait();
  *found = 0;
  const uint32_t none = 0;
  gpu.upload(failed_.data(), &none, sizeof none);
  gpu.wait();
  const Step& step = steps_.at(op - first_number_);
  run_step(step, run_number_);
  throw Error(Error::Kind::data, "the op found a value in this batch that it does not take")
      .within("running ", op_with_origin(step.op));
}

// A kernel that fails is noticed later, in another op: the last that began is named.
void Plan::add_failed_op(Error& e, const Step* running) const {
  if (!options_.gpu || e.kind() != Error::Kind::io) return;
  const uint32_t begun = options_.gpu->device()->last_begun();
  if (begun < first_number_ || begun >= first_number_ + steps_.size()) return;
  const Step& last = steps_[begun - first_number_];
  if (&last != running)
    e.within("on the GPU, where the last kernel that began was one of ", op_with_origin(last.op));
}

}  // namespace paddle
