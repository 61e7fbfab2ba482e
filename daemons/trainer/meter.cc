#include "trainer/meter.h"

#include <cstdio>

namespace paddle {

std::string number_text(double value, int digits) {
  char out[32];
  std::snprintf(out, sizeof out, "%.*g", digits, value);
  return out;
}

Meter::Meter(const std::vector<Evaluator>& evaluators) : evaluators_(&evaluators) {
  size_t numbers = 0;
  for (const Evaluator& e : evaluators) {
    at_.push_back(numbers);
    numbers += e.numbers();
  }
  sums_.resize(numbers);
}

void Meter::add(int64_t samples, double cost, std::span<const double> values) {
  samples_ += samples;
  cost_ += cost * static_cast<double>(samples);
  for (size_t e = 0; e < at_.size(); ++e)
    for (size_t i = at_[e]; i < at_[e] + (*evaluators_)[e].numbers(); ++i)
      sums_[i] = (*evaluators_)[e].running ? values[i]
                                           : sums_[i] + values[i] * static_cast<double>(samples);
}

void Meter::clear() {
  samples_ = 0;
  cost_ = 0;
  sums_.assign(sums_.size(), 0);
}

double Meter::value(size_t i) const {
  const Evaluator& e = (*evaluators_)[i];
  double v = sums_[at_[i]];
  if (!e.under.empty()) return sums_[at_[i] + 1] != 0 ? v / sums_[at_[i] + 1] : 0;
  if (!e.running) v = samples_ ? v / static_cast<double>(samples_) : 0;
  return e.inverted ? 1 - v : v;
}

std::vector<std::pair<std::string, double>> Meter::evaluators() const {
  std::vector<std::pair<std::string, double>> out;
  for (size_t i = 0; i < at_.size(); ++i) out.emplace_back((*evaluators_)[i].name, value(i));
  return out;
}

std::string Meter::evaluators_text(int digits) const {
  std::string out;
  for (size_t i = 0; i < at_.size(); ++i)
    out += (out.empty() ? "" : "  ") + (*evaluators_)[i].name + "=" + number_text(value(i), digits);
  return out;
}

double Meter::sum(size_t i) const {
  const double sum = sums_[at_[i]];
  return (*evaluators_)[i].inverted ? static_cast<double>(samples_) - sum : sum;
}

bool PassMeters::enter(uint64_t pass, uint64_t step, uint64_t batch, bool from_start) {
  if (pass == pass_ && !from_start) return false;
  const bool left = pass_ != ~uint64_t{0} && !from_start;
  pass_ = pass;
  first_batch_ = from_start ? 0 : batch;
  next_step_ = step;
  whole.clear();
  period.clear();
  return left;
}

void PassMeters::add(uint64_t step, int64_t samples, double cost, std::span<const double> values) {
  if (step < next_step_) return;
  whole.add(samples, cost, values);
  period.add(samples, cost, values);
  next_step_ = step + 1;
}

double SampleRate::per_second(uint64_t samples) {
  const auto now = Clock::now();
  const double seconds = std::chrono::duration<double>(now - last_).count();
  if (seconds > 0.1) {
    rate_ = samples > samples_ ? static_cast<double>(samples - samples_) / seconds : 0;
    last_ = now;
    samples_ = samples;
  }
  return rate_;
}

}  // namespace paddle
