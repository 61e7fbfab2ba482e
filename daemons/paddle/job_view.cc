#include "paddle/job_view.h"

#include <tuple>

#include "base/error.h"

namespace paddle {
namespace {

bool behind(const event::Progress& a, const event::Progress& b) {
  return std::tie(a.pass, a.batch, a.step) < std::tie(b.pass, b.batch, b.step);
}

}  // namespace

void JobView::take(size_t index, const event::Any& event) {
  Trainer& t = trainers_[index];
  if (const auto* now = std::get_if<event::Progress>(&event)) {
    if (!t.begun) t.first_samples = now->samples;
    t.begun = true;
    t.last = *now;
    t.waits.clear();
  }
  if (const auto* pass = std::get_if<event::PassEnded>(&event); pass && t.begun) {
    t.last.pass = pass->pass;
    t.last.batch = pass->batches;
    t.last.cost = pass->cost;
    t.last.evaluators = pass->evaluators;
  }
  if (const auto* wait = std::get_if<event::Waiting>(&event)) t.waits = wait->reason;
  if (index != 0) return;
  if (const auto* pass = std::get_if<event::PassEnded>(&event)) take_pass(*pass);
  if (const auto* saved = std::get_if<event::Saved>(&event)) last_saved_ = saved->path;
  if (const auto* done = std::get_if<event::Finished>(&event)) model_ = done->model;
}

// A job that went back does some passes again.
void JobView::take_pass(const event::PassEnded& e) {
  if (costs_.empty() || e.pass < first_pass_) {
    costs_.clear();
    first_pass_ = e.pass;
  }
  const auto place = static_cast<size_t>(e.pass - first_pass_);
  if (place < costs_.size()) costs_.resize(place);
  costs_.push_back(e.cost);
}

// The first of those who wait; cut where the terminal ends.
std::string JobView::waiting(int columns) const {
  for (size_t i = 0; i < trainers_.size(); ++i)
    if (!trainers_[i].waits.empty())
      return text("trainer.", i, ": ", trainers_[i].waits)
          .substr(0, columns > 1 ? static_cast<size_t>(columns - 1) : 0);
  return "";
}

std::string JobView::progress(double time, int columns) {
  if (std::string wait = waiting(columns); !wait.empty()) return wait;
  ProgressNow now;
  now.passes = passes_;
  const Trainer* slowest = nullptr;
  int64_t begun = 0;
  for (const Trainer& t : trainers_) {
    if (!t.begun) continue;
    if (slowest == nullptr || behind(t.last, slowest->last)) slowest = &t;
    ++begun;
    now.cost += t.last.cost;
    now.samples += t.last.samples - t.first_samples;
  }
  if (slowest == nullptr) return "";
  if (script_) now.step = slowest->last.step;
  now.pass = slowest->last.pass;
  now.batch = slowest->last.batch;
  now.batches = slowest->last.batches;
  now.evaluators = slowest->last.evaluators;
  now.cost /= static_cast<double>(begun);
  estimate_.update(now, time);
  return progress_line(now, estimate_.samples_per_second(), estimate_.seconds_left(), columns);
}

}  // namespace paddle
