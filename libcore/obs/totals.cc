#include "obs/totals.h"

#include <cstdio>

#include "base/error.h"

namespace paddle {
namespace {

std::string six_digits(double value) {
  char out[32];
  std::snprintf(out, sizeof out, "%.6g", value);
  return out;
}

std::string numbers_text(double cost, const event::Evaluators& evaluators) {
  std::string out = "cost " + six_digits(cost);
  for (const auto& [name, value] : evaluators) out += ", " + name + " " + six_digits(value);
  return out;
}

event::Evaluators pairs(const std::vector<wire::Number>& numbers) {
  event::Evaluators out;
  for (const wire::Number& n : numbers) out.emplace_back(n.name, n.value);
  return out;
}

}  // namespace

event::Totals totals_event(const wire::Totals& t) {
  auto out = event::Totals{.trainers = t.trainers,
                           .pass = static_cast<int64_t>(t.pass),
                           .batch = static_cast<int64_t>(t.batch),
                           .pass_ended = t.pass_ended,
                           .samples = static_cast<int64_t>(t.whole.samples),
                           .cost = t.whole.cost,
                           .evaluators = pairs(t.whole.evaluators),
                           .first_batch = static_cast<int64_t>(t.first_batch)};
  if (!t.period) return out;
  out.period_samples = static_cast<int64_t>(t.period->samples);
  out.period_cost = t.period->cost;
  out.period_evaluators = pairs(t.period->evaluators);
  return out;
}

std::string totals_text(const event::Totals& t) {
  std::string out =
      text("pass ", t.pass + 1, t.pass_ended ? "" : text(", batch ", t.batch),
           " of all trainers: ", t.samples, " samples, ", numbers_text(t.cost, t.evaluators));
  if (!t.pass_ended && t.first_batch > 0 && t.period_samples > 0)
    out += text("; since batch ", t.first_batch, ": ",
                numbers_text(t.period_cost, t.period_evaluators));
  return out;
}

}  // namespace paddle
