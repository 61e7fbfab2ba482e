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
  // the scope. `scratch` holds update_part numbers of 8 bytes. Throws Error(config).
  Update(const Program& program, int32_t block, const std::string& param, const std::string& grad,
         Scope& scope, ThreadPool& pool, Tensor& scratch, bool may_lower, const PlanOptions& plan);

  bool lowered() const { return op_.has_value(); }
  // Variables of the scope, other than the values, that the block reads or writes.
  const Names& variables() const { return variables_; }

  // Makes the values of update number `step` of their predecessors `from` and a sum of `count`
  // gradients, which is divided by their number. A lowered update may write its result over the
  // sum: `to` is `from` or the memory of the sum. Where the block is not lowered, `to` and `from`
  // are the memory of the variable `param` in the scope, and the sum may be changed. False where
  // one of the new values is NaN or Inf: then `to` and the state are of no use.
  bool run(void* sum, uint32_t count, const Tensor& from, const Tensor& to, uint64_t step);

  // Whether the new values are made of old values and gradient alone, element by element: then a
  // single gradient can be used while it comes in, and given up half way.
  bool by_element() const { return op_ && op_->states.empty() && !before_ && !after_; }
  // Reads the numbers (learning rate) that the next parts are made with.
  void read_numbers();
  // by_element(): elements [begin, end) of one gradient become the values of `to`, whose memory it
  // lies in. False where a new value is NaN or Inf: then the rest is not made.
  bool run_part(const Tensor& from, const Tensor& to, int64_t begin, int64_t end);
  // by_element(): the new values in `values` itself. `bound` is what no absolute value in there is
  // above, `largest` the same for the gradient. False where a new value would be NaN or Inf: then
  // nothing has changed.
  bool run_in_place(const void* grad, double largest, const Tensor& values, double& bound);

 private:
  void lower(const Block& block, const std::string& param, const std::string& grad, Scope& scope);
  template <class T>
  bool run_lowered(const T* sum, uint32_t count, const T* from, T* to, int64_t n);
  template <class T>
  bool stays_finite(const T* grad, const T* values, int64_t n);
  template <class T>
  bool run_checked(const T* from, T* to, int64_t n);
  template <class T>
  std::span<const T> numbers(std::span<T> buffer) const;

  ThreadPool& pool_;
  std::optional<LoweredOp> op_;
  std::vector<double> numbers_;           // of the lowered op, as they were read last
  std::unique_ptr<Plan> before_, after_;  // small ops around the lowered one
  std::unique_ptr<Plan> whole_;           // where it is not lowered
  Tensor& scratch_;                       // of the store: update_part elements
  Tensor fed_;                            // what the plan was given
  Shape shape_;
  Names variables_;
};

}  // namespace paddle
