#include "trainer/parameter_stats.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "obs/events.h"

namespace paddle {

void log_parameter_stats(Session& session) {
  for (const ParamGrad& p : session.model().params) {
    const Tensor& t = session.scope().tensor(p.param);
    double sum = 0, largest = 0;
    with_float(t.dtype(), [&](auto z) {
      for (const auto v : t.values<decltype(z)>()) {
        sum += std::abs(static_cast<double>(v));
        largest = std::max(largest, std::abs(static_cast<double>(v)));
      }
    });
    char line[160];
    std::snprintf(line, sizeof line, " avg_abs_val=%-11.6g max_val=%-11.6g",
                  sum / std::max<double>(1, double(t.numel())), largest);
    std::string name = p.param;
    name.resize(std::max<size_t>(20, name.size()), ' ');
    log_info(name + line);
  }
}

namespace {

constexpr size_t most_ops = 300, most_parameters = 100, parts = 30;

std::string variables_of(const Slots& slots) {
  std::string out;
  for (const auto& [slot, names] : slots)
    for (const std::string& n : names)
      if (n != empty_name) out += (out.empty() ? "" : " ") + n;
  return out;
}

// Not gradients, updates, exchanges and learning rates.
bool computes_results(const Op& op) {
  return (op.role() & ~(role::loss | role::not_specified)) == role::forward && op.type != "feed" &&
         op.type != "fetch";
}

}  // namespace

event::Parameter parameter_event(const std::string& name, const Tensor& values, int64_t step) {
  auto out = event::Parameter{.step = step, .elements = values.numel(), .name = name};
  out.shape = values.shape().str();
  std::array<uint64_t, parts> counts{};
  with_float(values.dtype(), [&](auto z) {
    const auto all = values.values<decltype(z)>();
    double sum = 0, squares = 0, low = INFINITY, high = -INFINITY;
    uint64_t finite = 0;
    for (const auto each : all) {
      const auto v = static_cast<double>(each);
      if (!std::isfinite(v)) continue;
      ++finite;
      sum += v;
      squares += v * v;
      low = std::min(low, v);
      high = std::max(high, v);
    }
    if (finite == 0) return;
    out.norm = std::sqrt(squares);
    out.mean = sum / static_cast<double>(finite);
    out.min = low;
    out.max = high;
    const double scale = high > low ? static_cast<double>(parts) / (high - low) : 0;
    for (const auto each : all)
      if (const auto v = static_cast<double>(each); std::isfinite(v))
        ++counts[std::min(parts - 1, static_cast<size_t>((v - low) * scale))];
  });
  for (const uint64_t n : counts) out.counts += (out.counts.empty() ? "" : " ") + std::to_string(n);
  return out;
}

void ModelEvents::begin(const Program& network, const std::vector<ParamGrad>& params, Scope& scope,
                        uint64_t step) {
  if (!events_on()) return;
  std::vector<const Op*> ops;
  for (const auto& op : network.global().ops())
    if (computes_results(*op)) ops.push_back(op.get());
  for (size_t i = 0; i < std::min(ops.size(), most_ops); ++i)
    emit(event::NetworkOp{.number = static_cast<int64_t>(i),
                          .ops = static_cast<int64_t>(ops.size()),
                          .type = ops[i]->type,
                          .inputs = variables_of(ops[i]->in),
                          .outputs = variables_of(ops[i]->out)});
  if (period_ >= 0) parameters(params, scope, step);
}

void ModelEvents::look(const std::vector<ParamGrad>& params, Scope& scope, uint64_t step) {
  if (!events_on() || period_ < 0) return;
  if (period_ == 0 || steady_seconds() - looked_ >= std::max(period_, 100 * took_))
    parameters(params, scope, step);
}

// Rows of tables are not here, but on the pservers.
void ModelEvents::parameters(const std::vector<ParamGrad>& params, Scope& scope, uint64_t step) {
  looked_ = steady_seconds();
  std::vector<std::pair<const Tensor*, std::string>> all;
  for (const ParamGrad& p : params)
    if (const Variable* v = scope.find(p.param); v != nullptr && !v->tensor.empty())
      all.emplace_back(&v->tensor, p.param);
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.first->numel() > b.first->numel();
  });
  if (all.size() > most_parameters) all.resize(most_parameters);
  for (const auto& [tensor, name] : all)
    emit(parameter_event(name, *tensor, static_cast<int64_t>(step)));
  took_ = steady_seconds() - looked_;
}

}  // namespace paddle
