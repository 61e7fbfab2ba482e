#include "paddle/job_view.h"

#include <algorithm>
#include <cstdio>

namespace paddle {
namespace {

std::string evaluators_text(const event::Evaluators& values) {
  std::string out;
  char number[32];
  for (const auto& [name, value] : values) {
    std::snprintf(number, sizeof number, "%.4g", value);
    out += (out.empty() ? "" : "  ") + name + "=" + number;
  }
  return out;
}

bool behind(const event::Progress& a, const event::Progress& b) {
  return a.pass != b.pass ? a.pass < b.pass : a.batch < b.batch;
}

}  // namespace

void JobView::take(size_t index, const event::Any& event) {
  Trainer& t = trainers_[index];
  if (const auto* now = std::get_if<event::Progress>(&event)) {
    if (!t.begun) t.first_samples = now->samples;
    t.begun = true;
    t.last = *now;
  }
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

std::string JobView::progress(double time, int columns) {
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
  now.pass = slowest->last.pass;
  now.batch = slowest->last.batch;
  now.batches = slowest->last.batches;
  now.evaluators = evaluators_text(slowest->last.evaluators);
  now.cost /= static_cast<double>(begun);
  estimate_.update(now, time);
  return progress_line(now, estimate_.samples_per_second(), estimate_.seconds_left(), columns);
}

}  // namespace paddle
