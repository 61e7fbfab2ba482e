// All that a shard holds for a job: the scope with its variables, its slices, its parts of sparse
// tables and the schedule of the learning rate. Made by one configuration, checked for meaning
// before memory is taken.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/byte_budget.h"
#include "pserver/gradient_pool.h"
#include "pserver/schedule.h"
#include "pserver/slice.h"
#include "pserver/table_part.h"

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
  std::vector<TableInfo> tables;
};

// What can be said of a configuration without its values. Throws Error(config) where the parts do
// not fit each other.
void check_config(const StoreConfig& config);
// Blocks that no slice names, after the first one, which holds listen_and_serv alone.
std::vector<int32_t> shared_blocks(const StoreConfig& config);

class Store {
 public:
  // Throws Error(config) where the parts do not fit each other, or need more memory than `budget`
  // has left (null: than the machine has). The values have their memory; build() makes the slices.
  Store(StoreConfig config, bool sync, ByteBudget* budget = nullptr, bool may_lower = true);
  // Its slices keep a reference to what it holds.
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  // Makes the next `count` slices; true when all are there. A store of many slices is built in
  // steps, so that its thread is free in between. Throws Error(config) for a block that cannot be
  // run.
  bool build(size_t count);
  bool built() const { return schedule_ != nullptr; }

  const Program& program() const { return config_.program; }
  const std::vector<KeptVariable>& variables() const { return config_.variables; }
  // In the order of the configuration. The memory stays in place but for the values of slices.
  const Tensor& value(size_t index) const { return values_[index]->tensor; }
  const Tensor* find_value(std::string_view name) const;
  // Before build(): takes the memory as it is. Throws Error(config) where it does not fit.
  void set_value(size_t index, Tensor value);

  std::vector<Slice>& slices() { return slices_; }
  const std::vector<Slice>& slices() const { return slices_; }
  const std::vector<std::unique_ptr<TablePart>>& tables() const { return tables_; }
  // Both, by place.
  const std::vector<Versioned*>& parts() const { return parts_.by_place; }
  // By id of the cut, or null; of slices alone.
  Versioned* part(uint32_t id) const {
    return id < parts_.by_id.size() ? parts_.by_id[id] : nullptr;
  }
  Slice* slice(uint32_t id) {
    const Versioned* v = part(id);
    return v && v->info().place < slices_.size() ? &slices_[v->info().place] : nullptr;
  }
  // Variables that belong to one slice: its values and its state, without what all slices share.
  const std::vector<uint32_t>& variables_of(const Slice& s) const { return own_[s.info().place]; }
  const PoolSizes& pool() const { return pool_sizes_; }
  ByteBudget* budget() const { return claim_.budget(); }
  // Bytes that it has taken from its budget: values, state, gradients and what updates need.
  uint64_t memory() const;
  // It goes away, and another takes its place: what it holds no longer counts. Or it stays after
  // all.
  void give_memory_back();
  void take_memory_again(uint64_t bytes);

  // All values are there: they are those of `version`.
  void start(uint64_t version);
  Schedule& schedule() { return *schedule_; }
  const Schedule& schedule() const { return *schedule_; }

 private:
  void claim_memory();
  void claim_for_plan(uint64_t bytes);

  ByteClaim claim_;
  StoreConfig config_;
  SliceOptions options_;
  ThreadPool pool_{1};
  Scope scope_;
  Tensor scratch_{DType::f64, {update_part}};
  PoolSizes pool_sizes_;
  std::vector<int32_t> shared_;
  std::vector<Variable*> values_;
  std::unordered_map<std::string_view, uint32_t> index_;  // of values_
  std::vector<Slice> slices_;
  std::vector<std::unique_ptr<TablePart>> tables_;
  struct {
    std::vector<Versioned*> by_place, by_id;
  } parts_;
  std::vector<std::vector<uint32_t>> own_;
  std::unique_ptr<Schedule> schedule_;
};

// The part of a table with this id of the cut, or null.
inline TablePart* table_of(const Store& store, uint32_t id) {
  const Versioned* v = store.part(id);
  const size_t slices = store.slices().size();
  return v && v->info().place >= slices ? store.tables()[v->info().place - slices].get() : nullptr;
}

}  // namespace paddle
