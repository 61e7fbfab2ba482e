#include "pserver/schedule.h"

namespace paddle {

void write_number(const Tensor& t, double value) {
  with_dtype(t.dtype(), [&](auto z) { *t.data<decltype(z)>() = static_cast<decltype(z)>(value); });
}

Schedule::Schedule(const Program& program, const std::vector<int32_t>& blocks, Scope& scope,
                   ThreadPool& pool, const PlanOptions& plan) {
  for (const int32_t block : blocks) {
    const Block& b = program.block(block);
    for (const auto& op : b.ops()) {
      if (op->type != "increment" || op->in["X"] != op->out["Out"]) continue;
      Variable* v = scope.find(op->in["X"][0]);
      if (!v || v->tensor.empty() || v->tensor.numel() != 1) continue;
      counters_.push_back({op->in["X"][0], v, op->attrs.get<float>("step", 1.0f)});
    }
    if (!b.ops().empty())
      plans_.push_back(std::make_unique<Plan>(program, block, scope, Names{}, Names{}, pool, plan));
  }
}

void Schedule::start(uint64_t version) {
  for (Counter& c : counters_)
    c.base = read_number(c.variable->tensor) - c.step * static_cast<double>(version);
  done_.reset();
}

void Schedule::set_counters(uint64_t version) {
  for (const Counter& c : counters_)
    write_number(c.variable->tensor, c.base + c.step * static_cast<double>(version));
}

void Schedule::run(uint64_t version) {
  if (plans_.empty() || done_ == version) return;
  set_counters(version);
  for (const auto& plan : plans_) plan->run(version);
  done_ = version;
}

std::optional<double> Schedule::counter_at(const std::string& name, uint64_t version) const {
  for (const Counter& c : counters_)
    if (c.name == name) return c.base + c.step * static_cast<double>(version);
  return {};
}

}  // namespace paddle
