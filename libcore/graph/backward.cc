#include "graph/backward.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>

#include "graph/op_def.h"

namespace paddle {
namespace {

constexpr std::string_view grad_suffix = "@GRAD";

bool is_grad_slot(std::string_view slot) { return slot.ends_with(grad_suffix); }
std::string base_slot(std::string_view slot) {
  return std::string(slot.substr(0, slot.size() - grad_suffix.size()));
}

bool differentiable(DType t) { return t == DType::f32 || t == DType::f64 || t == DType::f16; }

// One pass from a loss (or several targets) back to what it depends on.
class Backward {
 public:
  Backward(Program& program, const std::set<std::string>& no_grad)
      : block_(program.global()), no_grad_(no_grad), ops_before_(block_.ops().size()) {}

  // Marks the ops between the targets and the variables that want gradients.
  void mark(const Names& targets, const std::set<std::string>& roots) {
    std::set<std::string> reached = roots;
    for (size_t i = 0; i < ops_before_; ++i) {
      const Op& op = *block_.ops()[i];
      const Names ins = op.in.all();
      if (std::any_of(ins.begin(), ins.end(),
                      [&](const auto& n) { return reached.count(n) && flows(n); }))
        for (const std::string& n : op.out.all())
          if (flows(n)) reached.insert(n);
    }
    wanted_ = std::move(reached);
    std::set<std::string> needed(targets.begin(), targets.end());
    on_path_.assign(ops_before_, false);
    for (size_t i = ops_before_; i-- > 0;) {
      const Op& op = *block_.ops()[i];
      const Names outs = op.out.all();
      if (!std::any_of(outs.begin(), outs.end(),
                       [&](const auto& n) { return needed.count(n) && wanted_.count(n); }))
        continue;
      on_path_[i] = true;
      for (const std::string& n : op.in.all()) needed.insert(n);
    }
  }

  void seed(const std::string& target, const std::string& gradient) {
    contributions_[target] = {gradient};
  }

  // Adds the gradient ops, last forward op first.
  void run() {
    for (size_t i = ops_before_; i-- > 0;)
      if (on_path_[i]) differentiate(Op(*block_.ops()[i]));
    // What no op on the path produces (parameters, data) still has its parts to sum.
    Names open;
    for (const auto& [name, parts] : contributions_) open.push_back(name);
    for (const std::string& name : open) finish(name);
  }

  // The gradient's name, or "" where there is none.
  std::string gradient(const std::string& name) const {
    const auto it = contributions_.find(name);
    return it == contributions_.end() || it->second.empty() ? "" : it->second[0];
  }

 private:
  bool flows(const std::string& name) const {
    const Var* v = block_.find(name);
    return v && !v->stop_gradient && !no_grad_.count(name) && differentiable(v->dtype);
  }

  // Sums the parts of a gradient; after it there is exactly one.
  void finish(const std::string& name) {
    Names& parts = contributions_[name];
    if (parts.size() < 2) return;
    block_.append({.type = "sum", .in = {{"X", parts}}, .out = {{"Out", {grad_name(name)}}}});
    parts = {grad_name(name)};
  }

  void differentiate(const Op& forward) {
    const OpDef& def = op_def(forward.type);
    bool any = false;
    for (const std::string& out : forward.out.all()) {
      if (contributions_.count(out)) any = true;
    }
    if (!any || (def.grad.type.empty() && def.make_grad == nullptr)) return;
    for (const std::string& out : forward.out.all())
      if (contributions_.count(out)) finish(out);
    const auto want = [&](const std::string& n) { return wanted_.count(n) > 0 && flows(n); };
    for (Op& g : grad_ops(forward, want)) {
      g.origin = forward.origin;
      fill_absent_gradients(forward, g);
      add(std::move(g));
    }
  }

  // A gradient op may name the gradient of an output that nothing used: it is zero. Looked up by
  // name, not by slot: the gradient of a split is a concat, whose slot is plain X.
  void fill_absent_gradients(const Op& forward, const Op& g) {
    for (const std::string& out : forward.out.all()) {
      const std::string name = grad_name(out);
      if (!g.in.uses(name) || contributions_.count(out) || block_.find(name)) continue;
      block_.append({.type = "fill_zeros_like", .in = {{"X", {out}}}, .out = {{"Out", {name}}}});
    }
  }

  void add(Op g) {
    Slots outs;
    for (const auto& [slot, names] : g.out) {
      Names renamed;
      for (const std::string& n : names) {
        const std::string part = n == empty_name ? n : part_name(n, outs, renamed);
        renamed.push_back(part);
      }
      outs.set(slot, std::move(renamed));
    }
    g.out = std::move(outs);
    if (std::all_of(g.out.begin(), g.out.end(), [](const auto& e) {
          return std::all_of(e.second.begin(), e.second.end(),
                             [](const auto& n) { return n == empty_name; });
        }))
      return;
    g.attrs.set(role::attr, role::backward);
    g.attrs.remove(role::var_attr);
    block_.append(std::move(g));
  }

  // The first part of a gradient keeps its plain name until a second one comes. Both may be outputs
  // of one op (x * x), whose names so far are in `outs` and `names`.
  std::string part_name(const std::string& gradient, Slots& outs, Names& names) {
    const std::string name = gradient.substr(0, gradient.size() - grad_suffix.size());
    Names& parts = contributions_[name];
    if (parts.empty()) {
      parts.push_back(gradient);
      return gradient;
    }
    if (parts.size() == 1 && parts[0] == gradient) {
      const std::string first = gradient + "@RENAME@0";
      rename_written(gradient, first);
      outs.rename(gradient, first);
      std::replace(names.begin(), names.end(), gradient, first);
      parts[0] = first;
    }
    parts.push_back(gradient + "@RENAME@" + std::to_string(parts.size()));
    return parts.back();
  }

  void rename_written(const std::string& from, const std::string& to) {
    const Var* written = block_.find(from);
    if (written == nullptr) return;  // by an op that is not in the block yet
    Var copy = *written;
    copy.name = to;
    block_.create(std::move(copy));
    for (size_t i = ops_before_; i < block_.ops().size(); ++i)
      block_.ops()[i]->out.rename(from, to);
  }

  Block& block_;
  const std::set<std::string>& no_grad_;
  size_t ops_before_;
  std::set<std::string> wanted_;
  std::vector<bool> on_path_;
  std::map<std::string, Names> contributions_;
};

// op_role_var says which parameter gradients an op finishes.
void name_role_vars(Block& block, size_t from, const std::vector<ParamGrad>& pairs) {
  std::unordered_map<std::string_view, std::string_view> param_of;
  for (const ParamGrad& pg : pairs) param_of.emplace(pg.grad, pg.param);
  for (size_t i = from; i < block.ops().size(); ++i) {
    Strings vars;
    for (const std::string& out : block.ops()[i]->out.all())
      if (const auto it = param_of.find(out); it != param_of.end())
        vars.insert(vars.end(), {std::string(it->second), out});
    block.ops()[i]->attrs.set(role::var_attr, vars);
  }
}

// Gradients that an earlier call has made keep their names: what ops from `first` on write a second
// time gets a name with a number ("x@GRAD_0"), and so does where they read it. Tells the new names.
std::map<std::string, std::string> rename_rewritten(Block& block, size_t first,
                                                    const std::set<std::string>& before) {
  std::map<std::string, std::string> renamed;
  for (size_t i = first; i < block.ops().size(); ++i) {
    Op& op = *block.ops()[i];
    for (const auto& [from, to] : renamed) op.in.rename(from, to);
    for (const std::string& n : op.out.all()) {
      if (!before.count(n) || renamed.count(n)) continue;
      int number = 0;
      while (block.find(text(n, "_", number))) ++number;
      Var copy = block.var(n);
      copy.name = renamed[n] = text(n, "_", number);
      block.create(std::move(copy));
    }
    for (const auto& [from, to] : renamed) op.out.rename(from, to);
  }
  return renamed;
}

void seed_gradient(Block& block, const Var& target, int32_t op_role) {
  Op fill{.type = "fill_constant", .out = {{"Out", {grad_name(target.name)}}}};
  fill.attrs.set("shape", Longs(target.shape.begin(), target.shape.end()));
  fill.attrs.set("value", 1.0f);
  fill.attrs.set("dtype", static_cast<int32_t>(target.dtype));
  fill.attrs.set(role::attr, op_role);
  block.append(std::move(fill));
}

}  // namespace

std::vector<Op> grad_ops(const Op& forward, const std::function<bool(const std::string&)>& want) {
  const OpDef& def = op_def(forward.type);
  if (def.make_grad != nullptr) return def.make_grad(forward, want);
  Op g{.type = def.grad.type, .attrs = forward.attrs};
  for (const std::string& slot : def.grad.inputs) {
    Names names;
    if (!is_grad_slot(slot)) {
      names = forward.in.has(slot) ? forward.in[slot] : forward.out[slot];
    } else {
      for (const std::string& n : forward.out[base_slot(slot)]) names.push_back(grad_name(n));
    }
    if (!names.empty()) g.in.set(slot, std::move(names));
  }
  for (const std::string& slot : def.grad.outputs) {
    Names names;
    for (const std::string& n : forward.in[base_slot(slot)])
      names.push_back(want(n) ? grad_name(n) : std::string(empty_name));
    if (!names.empty()) g.out.set(slot, std::move(names));
  }
  return {std::move(g)};
}

std::vector<ParamGrad> append_backward(Program& program, const std::string& loss,
                                       const Names& parameters,
                                       const std::set<std::string>& no_grad) {
  Block& block = program.global();
  const Var& target = block.var(loss);
  require(target.shape == Shape{1}, Error::Kind::config, "the loss '", loss,
          "' must have shape [1], found ", target.shape, ": average it with mean() first");
  std::vector<ParamGrad> pairs;
  std::set<std::string> roots;
  for (const auto& v : block.vars()) {
    if (v->stop_gradient || no_grad.count(v->name)) continue;
    const bool listed = parameters.empty()
                            ? v->param && v->param->trainable
                            : std::count(parameters.begin(), parameters.end(), v->name) > 0;
    if (!listed) continue;
    roots.insert(v->name);
    pairs.push_back({v->name, grad_name(v->name)});
  }
  for (const auto& op : block.ops())
    if (op->out.uses(loss)) op->attrs.set(role::attr, role::forward | role::loss);

  const size_t first = block.ops().size();
  OpRoleGuard guard(program, role::backward);
  Backward backward(program, no_grad);
  backward.mark({loss}, roots);
  seed_gradient(block, target, role::backward | role::loss);
  backward.seed(loss, grad_name(loss));
  backward.run();
  std::erase_if(pairs, [&](const ParamGrad& pg) { return backward.gradient(pg.param).empty(); });
  name_role_vars(block, first, pairs);
  return pairs;
}

Names append_gradients(Program& program, const Names& targets, const Names& inputs,
                       const Names& target_gradients, const std::set<std::string>& no_grad) {
  require(target_gradients.empty() || target_gradients.size() == targets.size(),
          Error::Kind::config,
          "expected as many target gradients as targets: ", target_gradients.size(), " and ",
          targets.size());
  Block& block = program.global();
  std::set<std::string> before;
  for (const auto& v : block.vars()) before.insert(v->name);
  const size_t first = block.ops().size();
  OpRoleGuard guard(program, role::backward);
  Backward backward(program, no_grad);
  backward.mark(targets, {inputs.begin(), inputs.end()});
  for (size_t i = 0; i < targets.size(); ++i) {
    const Var& target = block.var(targets[i]);
    if (!target_gradients.empty() && !target_gradients[i].empty()) {
      const Var& given = block.var(target_gradients[i]);
      require(given.shape.rank() == target.shape.rank(), Error::Kind::config, "the gradient '",
              given.name, "' ", given.shape, " does not fit its target '", target.name, "' ",
              target.shape);
      block.append({.type = "assign",
                    .in = {{"X", {given.name}}},
                    .out = {{"Out", {grad_name(target.name)}}}});
      backward.seed(targets[i], grad_name(targets[i]));
      continue;
    }
    block.append({.type = "fill_constant_batch_size_like",
                  .in = {{"Input", {targets[i]}}},
                  .out = {{"Out", {grad_name(targets[i])}}},
                  .attrs = {{"shape", Longs(target.shape.begin(), target.shape.end())},
                            {"value", 1.0f},
                            {"dtype", static_cast<int32_t>(target.dtype)}}});
    backward.seed(targets[i], grad_name(targets[i]));
  }
  backward.run();
  const auto renamed = rename_rewritten(block, first, before);
  Names out;
  for (const std::string& n : inputs) {
    const std::string made = backward.gradient(n);
    out.push_back(renamed.count(made) ? renamed.at(made) : made);
  }
  return out;
}

}  // namespace paddle
