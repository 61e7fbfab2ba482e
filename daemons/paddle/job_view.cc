#include "paddle/job_view.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "paddle/output.h"

namespace paddle {
namespace {

bool starts_with(std::string_view line, std::string_view start) {
  return line.substr(0, start.size()) == start;
}

}  // namespace

double number_in(std::string_view line, std::string_view name, double otherwise) {
  const std::string key = " " + std::string(name) + "=";
  const size_t at = line.find(key);
  if (at == std::string_view::npos) return otherwise;
  const char* begin = line.data() + at + key.size();
  double value = otherwise;
  const auto [end, failure] = std::from_chars(begin, line.data() + line.size(), value);
  return failure == std::errc() && end != begin ? value : otherwise;
}

void JobView::take(size_t trainer, std::string_view line, double time) {
  if (log_letter(line) == '\0') return;
  const std::string_view message = log_message(line);
  constexpr std::string_view saved = "the model is in ";
  if (trainer == 0 && starts_with(message, saved)) model_ = message.substr(saved.size());
  constexpr std::string_view on_the_way = "saved ";
  if (trainer == 0 && starts_with(message, on_the_way))
    last_saved_ = message.substr(on_the_way.size());
  const bool of_pass = starts_with(message, " Pass=");
  if (!of_pass && !starts_with(message, " Batch=")) return;
  const double cost = number_in(message, "AvgCost", NAN);
  if (std::isnan(cost) && message.find("AvgCost=") == std::string_view::npos) return;

  Trainer& t = trainers_[trainer];
  t.cost = cost;
  const auto samples = static_cast<int64_t>(number_in(message, "samples", 0));
  const auto pass = static_cast<int64_t>(number_in(message, "Pass", 0));
  if (of_pass) {  // tells the samples of the pass; a line of a batch, those since the start
    t.whole += samples;
    t.samples = std::max(t.samples, t.whole);
    t.pass = pass + 1;
    t.batch = 0;
  } else {
    t.samples = samples;
    t.batch = static_cast<int64_t>(number_in(message, "Batch", 0));
  }
  told(t, time);
  if (!of_pass || trainer != 0) return;
  if (costs_.empty()) first_pass_ = pass;
  costs_.push_back(cost);
}

void JobView::take(const TrainerStatus& status, double time) {
  const auto samples = static_cast<int64_t>(status.samples);
  // One that has not begun, or that has said more in its log since.
  if (status.id >= trainers_.size() || samples <= trainers_[status.id].samples) return;
  Trainer& t = trainers_[status.id];
  t.samples = samples;
  t.pass = static_cast<int64_t>(status.pass);
  t.batch = static_cast<int64_t>(status.batch);
  t.cost = status.cost;
  told(t, time);
}

void JobView::told(Trainer& t, double time) {
  if (!t.told) t.first_samples = t.samples;
  t.told = true;
  last_ = time;
  if (start_ >= 0) return;
  start_ = time;
  start_pass_ = t.pass;
}

std::string JobView::progress(int columns) const {
  ProgressNow now;
  now.passes = passes_;
  int64_t told = 0;
  for (const Trainer& t : trainers_) {
    if (!t.told) continue;
    if (told == 0 || t.pass < now.pass) {
      now.pass = t.pass;
      now.batch = t.batch;
    }
    ++told;
    now.cost += t.cost;
    now.samples += t.samples - t.first_samples;
  }
  if (told == 0) return "";
  now.cost /= static_cast<double>(told);
  const double passed = last_ - start_;
  if (passed <= 0 || now.samples == 0) return progress_line(now, -1, -1, columns);
  const double rate = static_cast<double>(now.samples) / passed;
  // By whole passes: how many batches one has, nobody has told.
  const int64_t done = now.pass - start_pass_, left = std::max<int64_t>(passes_ - now.pass, 0);
  const double each = done > 0 ? passed / static_cast<double>(done) : -1;
  return progress_line(now, rate, done > 0 ? each * static_cast<double>(left) : -1, columns);
}

}  // namespace paddle
