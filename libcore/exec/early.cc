// Values that shapes depend on. An op like reshape2 takes its shape from a tensor, and memory is
// laid out before kernels run. So the steps that compute such a tensor run when the plan is laid
// out, on memory of their own, and run again in their turn like all others. What they compute from,
// feeds and variables of the scope, is remembered: when it changes, the plan is laid out again.
#include <algorithm>
#include <cstring>

#include "exec/plan.h"

namespace paddle {
namespace {

// Shapes come from small tensors; more is a mistake, and would be compared before every run.
constexpr size_t max_root_bytes = 1 << 20;

bool among(const std::vector<std::string>& slots, const std::string& slot) {
  return std::count(slots.begin(), slots.end(), slot) > 0;
}

}  // namespace

void Plan::find_early_steps() {
  std::set<int> wanted;
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    for (const int v : step->out)
      if (wanted.erase(v) > 0) step->early = true;
    size_t at = 0;
    for (const auto& [slot, names] : step->op.in) {
      const bool elements =
          step->early ? !among(step->def->shape_only, slot) : among(step->def->shape_values, slot);
      for (size_t k = 0; k < names.size(); ++k, ++at)
        if (elements && step->in[at] >= 0) wanted.insert(step->in[at]);
    }
  }
  early_roots_.assign(wanted.begin(), wanted.end());
}

Tensor Plan::root_tensor(int var) const {
  const PlanVar& v = vars_[static_cast<size_t>(var)];
  if (v.home == Home::scope) return v.variable->tensor;
  if (v.home == Home::feed) return Tensor::borrow(v.view.data, v.view.dtype, v.view.shape);
  return {};  // read before anything writes it: infer_step reports it
}

void Plan::take_root_values() {
  early_values_.clear();
  for (const int root : early_roots_) {
    const Tensor t = root_tensor(root);
    PlanVar& v = vars_[static_cast<size_t>(root)];
    require(t.empty() || t.bytes() <= max_root_bytes, Error::Kind::config, "a shape depends on '",
            v.name, "' ", v.meta.shape, ", which has ", t.empty() ? 0 : t.bytes(),
            " bytes: shapes may depend on at most ", max_root_bytes, " bytes of a variable");
    early_values_.push_back(t.empty() ? t : t.clone());
    v.meta.value = t.empty() ? nullptr : &early_values_.back();
  }
}

bool Plan::root_values_changed() const {
  for (size_t k = 0; k < early_roots_.size(); ++k) {
    const Tensor now = root_tensor(early_roots_[k]);
    const Tensor& then = early_values_[k];
    if (now.bytes() != then.bytes() || std::memcmp(now.raw(), then.raw(), now.bytes()) != 0)
      return true;
  }
  return false;
}

void Plan::run_early(const Step& step, std::span<Meta* const> in, std::vector<Meta>& results) {
  require(!step.def->has_effect, Error::Kind::config, "a shape depends on the result of op ",
          step.op.type, ", which cannot be computed before the program runs");
  std::deque<View> views;
  std::vector<View*> args;
  const auto add = [&](const Meta& m, void* data) {
    views.push_back({.data = data, .dtype = m.dtype, .shape = m.shape, .lod = m.lod});
    args.push_back(&views.back());
  };
  for (const Meta* m : in) add(*m, m->value == nullptr ? nullptr : m->value->raw());
  for (Meta& m : results) {
    require(m.shape.known(), Error::Kind::config, "the shape ", m.shape,
            " of a result is not known");
    m.value = &early_values_.emplace_back(m.dtype, m.shape);
    add(m, m.value->raw());
  }
  bind(*step.def, step, in, results)(Run(args.data(), device_, scratch_, step.seed, 0));
}

}  // namespace paddle
