#include "pserver/update.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "optim/merge.h"

namespace paddle {
namespace {

constexpr size_t max_numbers = 8, max_states = 4;
// Elements that are looked at and used while they are in the innermost cache.
constexpr int64_t checked_part = 4096;

bool is_shard_work(const Op& op) { return (op.role() & role::dist) != 0; }

bool touches(const Op& op, const Names& names) {
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& n) { return op.in.uses(n) || op.out.uses(n); });
}

// A program of one block: the ops of `block` that `keeps` says, and the variables that they name.
// Copying the whole program for each slice would make joining slow where there are many.
template <class Keeps>
std::unique_ptr<Program> reduced(const Program& program, int32_t block, const Keeps& keeps) {
  const Block& from = program.block(block);
  auto out = std::make_unique<Program>();
  out->random_seed = program.random_seed;
  Block& to = out->append_block(0);
  for (size_t i = 0; i < from.ops().size(); ++i) {
    const Op& op = *from.ops()[i];
    if (!keeps(i, op)) continue;
    for (const Slots* slots : {&op.in, &op.out})
      for (const std::string& n : slots->all())
        if (const Var* v = from.find(n)) out->global().create(*v);
    to.adopt(op);
  }
  return to.ops().empty() ? nullptr : std::move(out);
}

// Settings as the op runs with them: what stands in it, or the rule's default.
double setting_of(const Op& op, const optim::Setting& s) {
  return std::visit(
      [&](auto fallback) { return static_cast<double>(op.attrs.get(s.name, fallback)); },
      s.fallback);
}

// The place of the one optimizer op that updates `param` in place, or none.
std::optional<size_t> optimizer_op(const Block& block, const std::string& param) {
  std::optional<size_t> found;
  for (size_t i = 0; i < block.ops().size(); ++i) {
    const Op& op = *block.ops()[i];
    if (is_shard_work(op) || optim::find_rule(op.type) == nullptr) continue;
    if (found || op.in["Param"] != Names{param} || op.out["ParamOut"] != Names{param}) return {};
    found = i;
  }
  return found;
}

// The arrays of an op besides the parameter, or none where they are not all kept in place.
std::optional<LoweredOp> arrays_of(const Op& op, const Tensor& param, Scope& scope) {
  LoweredOp out{.rule = optim::find_rule(op.type)};
  for (const optim::State& s : out.rule->states) {
    if (s.optional && !op.in.has(s.in)) {
      out.states.push_back(nullptr);
      continue;
    }
    if (op.in[s.in].size() != 1 || op.in[s.in] != op.out[s.out]) return {};
    Variable* v = scope.find(op.in[s.in][0]);
    if (!v || v->tensor.shape() != param.shape() || v->tensor.dtype() != param.dtype()) return {};
    out.states.push_back(v);
  }
  for (const optim::Power& p : out.rule->powers)
    if (op.out.has(p.slot + "Out")) return {};  // the op advances it as well
  for (const std::string& input : out.rule->inputs) {
    if (op.in[input].size() != 1) return {};
    out.inputs.push_back(&scope.var(op.in[input][0]));
  }
  for (const optim::Setting& s : out.rule->settings) out.settings.push_back(setting_of(op, s));
  return out;
}

}  // namespace

Update::Update(const Program& program, int32_t block, const std::string& param,
               const std::string& grad, Scope& scope, ThreadPool& pool, Tensor& scratch,
               bool may_lower, const PlanOptions& plan_options)
    : pool_(pool), scratch_(scratch), shape_(scope.tensor(param).shape()) {
  const Block& b = program.block(block);
  const DType dtype = scope.tensor(param).dtype();
  require(dtype == DType::f32 || dtype == DType::f64, Error::Kind::config, "the parameter '", param,
          "' is ", name_of(dtype), "; pservers update float32 and float64");
  if (may_lower) lower(b, param, grad, scope);
  const auto own = [](size_t, const Op& op) { return !is_shard_work(op); };
  const auto plan = [&](const auto& keeps, const Names& feeds) -> std::unique_ptr<Plan> {
    const auto part = reduced(program, block, keeps);
    if (!part) return nullptr;
    return std::make_unique<Plan>(*part, 1, scope, feeds, Names{}, pool, plan_options);
  };
  if (op_) {
    const size_t at = *optimizer_op(b, param);
    before_ = plan([&](size_t i, const Op& op) { return i < at && own(i, op); }, {});
    after_ = plan([&](size_t i, const Op& op) { return i > at && own(i, op); }, {});
  } else {
    whole_ = plan(own, {grad});
    require(whole_ != nullptr, Error::Kind::config, "block ", block, ", which shall update '",
            param, "', has no ops");
  }
  for (const auto& op : b.ops()) {
    if (is_shard_work(*op)) continue;
    for (const Slots* slots : {&op->in, &op->out})
      for (const std::string& n : slots->all())
        if (n != param && scope.find(n) && std::count(variables_.begin(), variables_.end(), n) == 0)
          variables_.push_back(n);
  }
}

// Small ops around the optimizer op may do what they like, as long as they leave its arrays alone.
void Update::lower(const Block& block, const std::string& param, const std::string& grad,
                   Scope& scope) {
  const std::optional<size_t> at = optimizer_op(block, param);
  if (!at || block.ops()[*at]->in["Grad"] != Names{grad}) return;
  const Op& op = *block.ops()[*at];
  Names arrays{param, grad};
  for (const optim::State& s : optim::find_rule(op.type)->states)
    for (const std::string& n : op.in[s.in]) arrays.push_back(n);
  for (size_t i = 0; i < block.ops().size(); ++i)
    if (i != *at && !is_shard_work(*block.ops()[i]) && touches(*block.ops()[i], arrays)) return;
  op_ = arrays_of(op, scope.tensor(param), scope);
  assert(!op_ || (op_->rule->numbers.size() <= max_numbers && op_->states.size() <= max_states));
}

bool Update::run(void* sum, uint32_t count, const Tensor& from, const Tensor& to, uint64_t step) {
  return with_float(to.dtype(), [&](auto z) {
    using T = decltype(z);
    if (op_) {
      if (before_) before_->run(step);
      read_numbers();
      const bool finite =
          run_lowered<T>(static_cast<T*>(sum), count, from.data<T>(), to.data<T>(), to.numel());
      if (after_) after_->run(step);
      return finite;
    }
    assert(from.raw() == to.raw() && sum != to.raw());
    if (count > 1)
      optim::scale(static_cast<const T*>(sum), to.numel(), T(1) / static_cast<T>(count),
                   static_cast<T*>(sum));
    fed_ = Tensor::borrow(sum, to.dtype(), to.shape());
    whole_->feed(0, fed_);
    whole_->run(step);
    return optim::all_finite<T>(to.data<T>(), to.numel());
  });
}

void Update::read_numbers() {
  numbers_.clear();
  for (const Variable* v : op_->inputs) numbers_.push_back(read_number(v->tensor));
  numbers_.insert(numbers_.end(), op_->settings.begin(), op_->settings.end());
}

template <class T>
std::span<const T> Update::numbers(std::span<T> buffer) const {
  for (size_t i = 0; i < numbers_.size(); ++i) buffer[i] = static_cast<T>(numbers_[i]);
  return buffer.first(numbers_.size());
}

bool Update::run_part(const Tensor& from, const Tensor& to, int64_t begin, int64_t end) {
  assert(by_element());
  return with_float(to.dtype(), [&](auto z) {
    using T = decltype(z);
    return run_checked<T>(from.data<T>() + begin, to.data<T>() + begin, end - begin);
  });
}

template <class T>
bool Update::run_checked(const T* from, T* to, int64_t n) {
  T buffer[max_numbers];
  const std::span<const T> known = numbers<T>(buffer);
  for (int64_t at = 0; at < n; at += checked_part) {
    const int64_t part = std::min(checked_part, n - at);
    optim::apply_dense(*op_->rule, optim::Call<T>{pool_, known, to + at, {}, from + at}, to + at,
                       part);
    // NaN and Inf of the gradient are in there as well.
    if (!optim::all_finite<T>(to + at, part)) return false;
  }
  return true;
}

// The bound costs nothing and is far from the largest number in any training that makes sense. Only
// where it is not, the values are looked at, and then the new ones are made twice.
bool Update::run_in_place(const void* grad, double largest, const Tensor& values, double& bound) {
  assert(by_element());
  read_numbers();
  return with_float(values.dtype(), [&](auto z) {
    using T = decltype(z);
    constexpr double most = static_cast<double>(std::numeric_limits<T>::max()) / 2;
    const auto* g = static_cast<const T*>(grad);
    T* p = values.data<T>();
    const double change = std::abs(numbers_[0]) * largest;
    if (!(bound + change < most)) bound = static_cast<double>(optim::largest<T>(p, values.numel()));
    if (!(bound + change < most) && !stays_finite<T>(g, p, values.numel())) return false;
    bound += change;
    T buffer[max_numbers];
    optim::apply_dense(*op_->rule, optim::Call<T>{pool_, numbers<T>(buffer), p, {}}, g,
                       values.numel());
    return true;
  });
}

template <class T>
bool Update::stays_finite(const T* grad, const T* values, int64_t n) {
  T buffer[max_numbers];
  const std::span<const T> known = numbers<T>(buffer);
  T* made = static_cast<T*>(scratch_.raw());
  for (int64_t at = 0; at < n; at += update_part) {
    const int64_t part = std::min(update_part, n - at);
    optim::apply_dense(*op_->rule, optim::Call<T>{pool_, known, made, {}, values + at}, grad + at,
                       part);
    if (!optim::all_finite<T>(made, part)) return false;
  }
  return true;
}

template <class T>
bool Update::run_lowered(const T* sum, uint32_t count, const T* from, T* to, int64_t n) {
  T buffer[max_numbers];
  T *arrays[max_states], *states[max_states];
  const std::span<const T> known = numbers<T>(buffer);
  for (size_t k = 0; k < op_->states.size(); ++k)
    arrays[k] = op_->states[k] ? op_->states[k]->tensor.data<T>() : nullptr;
  const T factor = T(1) / static_cast<T>(count);
  T* mean = static_cast<T*>(scratch_.raw());
  bool finite = true;
  for (int64_t at = 0; at < n; at += update_part) {
    const int64_t part = std::min(update_part, n - at);
    for (size_t k = 0; k < op_->states.size(); ++k)
      states[k] = arrays[k] ? arrays[k] + at : nullptr;
    const T* grad = sum + at;
    if (count > 1) {
      optim::scale(grad, part, factor, mean);
      grad = mean;
    }
    const optim::Call<T> call{
        pool_, known, to + at, {states, op_->states.size()}, from != to ? from + at : nullptr};
    optim::apply_dense(*op_->rule, call, grad, part);
    finite = finite && optim::all_finite<T>(to + at, part);  // they are in the cache
  }
  return finite;
}

}  // namespace paddle
