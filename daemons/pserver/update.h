// How the gradient of a slice becomes its next values. Where the slice's block is an optimizer op
// and small ops beside it, the op is lowered to its update rule and runs part by part through the
// cache; any other block runs as a plan. Both give the same bits.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "exec/plan.h"
#include "optim/rule.h"

namespace paddle {

// Elements that are merged and updated in one go: a few arrays of them fit into the cache.
inline constexpr int64_t update_part = 8192;

// What the update works on: one op of the block, its numbers and arrays found once.
struct LoweredOp {
  const optim::Rule* rule = nullptr;
  std::vector<const Variable*> inputs;  // one-element variables: learning rate, powers
  std::vector<double> settings;
  std::vector<Variable*> states;  // null where an optional one is absent
};

class Update {
 public:
  // `param` and `grad` name the slice's values and merged gradient in `program`. Ops of the role
  // dist are the shard's own business and are left out. Everything that the block keeps must be in
  // the scope. Throws Error(config).
  Update(const Program& program, int32_t block, const std::string& param, const std::string& grad,
         Scope& scope, ThreadPool& pool, bool may_lower);

  bool lowered() const { return op_.has_value(); }
  // Variables of the scope, other than the values, that the block reads or writes.
  const Names& variables() const { return variables_; }

  // Makes the values of update number `step` of their predecessors `from` and the gradients, which
  // are summed in their order and divided by their number. `to` is the memory of the variable
  // `param` in the scope where the block is not lowered, and may be `from`.
  void run(std::span<const void* const> grads, const Tensor& from, const Tensor& to, uint64_t step);

 private:
  void lower(const Block& block, const std::string& param, const std::string& grad, Scope& scope);
  template <class T>
  void run_lowered(std::span<const void* const> grads, const T* from, T* to, int64_t n);
  template <class T>
  void run_plan(std::span<const void* const> grads, const Tensor& from, const Tensor& to,
                uint64_t step);

  ThreadPool& pool_;
  std::optional<LoweredOp> op_;
  std::unique_ptr<Plan> before_, after_;  // small ops around the lowered one
  std::unique_ptr<Plan> whole_;           // where it is not lowered
  Tensor merged_;                         // a part of the gradient, or all of it for the plan
  Tensor fed_;                            // what the plan was given
  Shape shape_;
  Names variables_;
};

}  // namespace paddle
