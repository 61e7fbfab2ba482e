#include "exec/executor.h"

#include <algorithm>

namespace paddle {
namespace {
constexpr size_t max_plans = 64;
}

Executor::Executor(const ExecutorOptions& options) : options_(options), pool_(options.threads) {
  flush_denormals();
}

Plan& Executor::plan(const Program& program, Scope& scope, const Names& feeds,
                     const Names& fetches) {
  const auto it = std::find_if(plans_.begin(), plans_.end(), [&](const Entry& e) {
    return e.revision == program.revision() && e.scope == scope.id() && e.feeds == feeds &&
           e.fetches == fetches;
  });
  if (it != plans_.end()) {
    plans_.splice(plans_.begin(), plans_, it);
  } else {
    plans_.push_front(
        {program.revision(), scope.id(), feeds, fetches,
         std::make_unique<Plan>(program, 0, scope, feeds, fetches, pool_, options_.plan)});
    if (plans_.size() > max_plans) plans_.pop_back();
  }
  return *plans_.front().plan;
}

void Executor::set_remote(Remote* remote) {
  plans_.clear();
  options_.plan.remote = remote;
}

std::vector<OpCost> Executor::profile() const {
  std::vector<OpCost> out;
  for (const Entry& e : plans_) {
    const std::vector<OpCost> some = e.plan->profile();
    out.insert(out.end(), some.begin(), some.end());
  }
  return out;
}

std::vector<Tensor> Executor::run(const Program& program, Scope& scope, const Feeds& feeds,
                                  const Names& fetches, uint64_t step) {
  Names names;
  for (const auto& f : feeds) names.push_back(f.first);
  Plan& p = plan(program, scope, names, fetches);
  for (size_t i = 0; i < feeds.size(); ++i) p.feed(i, feeds[i].second);
  p.run(step);
  std::vector<Tensor> out;
  for (size_t i = 0; i < fetches.size(); ++i) out.push_back(p.fetch(i));
  return out;
}

}  // namespace paddle
