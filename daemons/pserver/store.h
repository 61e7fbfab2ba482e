// All that a shard holds for a job: the scope with its variables, its slices and the schedule of
// the learning rate. Made by one configuration, checked for meaning before memory is taken.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "pserver/schedule.h"
#include "pserver/slice.h"

namespace paddle {

struct KeptVariable {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
};

struct StoreConfig {
  Program program;
  std::vector<SliceInfo> slices;
  std::vector<KeptVariable> variables;  // slices and all that their updates keep
};

class Store {
 public:
  // Throws Error(config) where the parts do not fit each other, or where the machine has not
  // enough memory for them.
  Store(StoreConfig config, uint32_t trainers, bool sync, bool may_lower = true);

  const Program& program() const { return config_.program; }
  const std::vector<KeptVariable>& variables() const { return config_.variables; }
  // In the order of the configuration. The memory stays in place but for the values of slices.
  const Tensor& value(size_t index) const { return values_[index]->tensor; }
  const Tensor* find_value(const std::string& name) const;

  std::deque<Slice>& slices() { return slices_; }
  const std::deque<Slice>& slices() const { return slices_; }
  // By id of the cut, or null.
  Slice* slice(uint32_t id) { return id < by_id_.size() ? by_id_[id] : nullptr; }

  // All values are there: they are those of `version`.
  void start(uint64_t version);
  Schedule& schedule() { return *schedule_; }
  const Schedule& schedule() const { return *schedule_; }

 private:
  void check() const;
  void check_memory(uint32_t trainers, bool sync) const;
  void check_inputs() const;
  std::vector<int32_t> shared_blocks() const;

  StoreConfig config_;
  ThreadPool pool_{1};
  Scope scope_;
  std::vector<Variable*> values_;
  std::deque<Slice> slices_;
  std::vector<Slice*> by_id_;
  std::unique_ptr<Schedule> schedule_;
};

}  // namespace paddle
