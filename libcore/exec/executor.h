// Runs programs. Plans are kept, so that the second run of a program with the same feeds and
// fetches starts at once.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/thread_pool.h"
#include "exec/plan.h"

namespace paddle {

struct ExecutorOptions {
  int threads = 1;
  PlanOptions plan;
};

using Feeds = std::vector<std::pair<std::string, Tensor>>;

class Executor {
 public:
  explicit Executor(const ExecutorOptions& options = {});

  // Runs the global block once and returns copies of the fetched variables.
  std::vector<Tensor> run(const Program& program, Scope& scope, const Feeds& feeds = {},
                          const Names& fetches = {}, uint64_t step = 0);
  // The plan itself, for loops that feed and fetch without copies. It stays good until 64 others
  // have been used.
  Plan& plan(const Program& program, Scope& scope, const Names& feeds, const Names& fetches);

  // Who send and recv ops of later runs talk to; null for none. Plans made before are dropped.
  void set_remote(Remote* remote);
  // What the ops of all plans cost so far, where PlanOptions::profile is set.
  std::vector<OpCost> profile() const;

  ThreadPool& pool() { return pool_; }
  bool on_gpu() const { return options_.plan.gpu != nullptr; }

 private:
  struct Entry {
    uint64_t revision;
    uint64_t scope;
    Names feeds, fetches;
    std::unique_ptr<Plan> plan;
  };

  ExecutorOptions options_;
  ThreadPool pool_;
  std::list<Entry> plans_;  // the last used first
};

}  // namespace paddle
