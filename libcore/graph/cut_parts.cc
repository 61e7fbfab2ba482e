#include "graph/cut_parts.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "base/suggest.h"
#include "graph/op_def.h"

namespace paddle {
namespace {

constexpr auto config = Error::Kind::config;

template <class List>
bool contains(const List& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

bool is_persistable(const Block& block, const std::string& name) {
  const Var* v = block.find(name);
  return v != nullptr && v->persistable;
}

// The op that updates the parameter itself.
bool sets_param(const Op& op, const std::string& param) {
  return op.in["Param"] == Names{param} && op.out["ParamOut"] == Names{param};
}

// Who writes what, among the ops that leave the trainer.
class Writers {
 public:
  explicit Writers(const CutParts& parts) {
    for (const ParamUpdate& u : parts.updates)
      for (const Op* op : u.ops)
        for (const std::string& name : op->out.all()) by_name_[name].insert(u.names.param);
  }
  // A parameter other than `param` whose update writes `name`, or "".
  std::string other(const std::string& name, const std::string& param) const {
    const auto it = by_name_.find(name);
    if (it == by_name_.end()) return "";
    for (const std::string& p : it->second)
      if (p != param) return p;
    return "";
  }

 private:
  std::map<std::string, std::set<std::string>> by_name_;
};

// Each update must be able to run where nothing but its parameter, its gradient, its own state and
// the learning rate are.
void check_update(const Block& block, const ParamUpdate& u, const CutParts& parts,
                  const Writers& writers) {
  std::set<std::string> made = {u.names.grad};
  for (const Op* op : u.ops) {
    for (const std::string& name : op->in.all()) {
      if (name == empty_name || made.count(name) || parts.lr_made.count(name)) continue;
      const std::string other = writers.other(name, u.names.param);
      require(other.empty(), config, "the update of '", u.names.param, "' reads '", name,
              "', which the update of '", other,
              "' computes: pservers update every parameter alone, so a clip by the global norm "
              "cannot be cut; clip by norm or by value, or train in one process (",
              op_text(*op), ")");
      require(is_persistable(block, name), config, "the update of '", u.names.param, "' reads '",
              name, "', which only the trainer computes: let the update use its gradient, its ",
              "state and the learning rate alone, or train in one process (", op_text(*op), ")");
    }
    for (const std::string& name : op->out.all()) {
      if (name == empty_name) continue;
      const std::string other = writers.other(name, u.names.param);
      require(other.empty(), config, "the updates of '", u.names.param, "' and '", other,
              "' both write '", name, "': give each parameter a state of its own (", op_text(*op),
              ")");
      made.insert(name);
    }
  }
  require(std::any_of(u.ops.begin(), u.ops.end(),
                      [&](const Op* op) { return sets_param(*op, u.names.param); }),
          config, "no op updates the parameter '", u.names.param,
          "': call minimize() before the program is cut");
}

void check_schedule(const Block& block, const CutParts& parts) {
  for (const Op* op : parts.lr_ops)
    for (const std::string& name : op->in.all())
      require(name == empty_name || parts.lr_made.count(name) || is_persistable(block, name),
              config, "the learning rate is computed from '", name,
              "', which only the trainer computes: pservers keep the schedule, so it may use the ",
              "step counter and constants only (", op_text(*op), ")");
}

// What stays with the trainer must not wait for what has left it. Parameters come back.
void check_trainer(const Block& block, const CutParts& parts) {
  std::set<std::string> gone = parts.lr_made, params;
  gone.insert(parts.updated.begin(), parts.updated.end());
  for (const ParamUpdate& u : parts.updates) {
    gone.erase(u.names.param);
    gone.erase(u.names.grad);  // made by the backward ops
  }
  for (const auto& op : block.ops()) {
    if (CutParts::leaves(*op)) continue;
    for (const std::string& name : op->in.all())
      require(!gone.count(name), config, "an op of the trainer reads '", name,
              "', which pservers compute: take it out of the network (", op_text(*op), ")");
  }
}

// The ops that make the first value of a variable, but not row by row.
using WholeInitializers = std::unordered_map<std::string, const Op*>;
WholeInitializers whole_initializers(const Program& startup) {
  WholeInitializers out;
  for (const auto& op : startup.global().ops())
    if (!is_sliceable_init(*op))
      for (const std::string& name : op->out.all()) out.emplace(name, op.get());
  return out;
}

std::string why_whole(const Block& block, const WholeInitializers& whole, const ParamUpdate& u) {
  const Shape& shape = block.var(u.names.param).shape;
  for (const Op* op : u.ops) {
    if (!op_def(op->type).elementwise)
      return text("the op ", op->type, " of its update needs the whole gradient");
    Names names = op->in.all();
    const Names outs = op->out.all();
    names.insert(names.end(), outs.begin(), outs.end());
    for (const std::string& name : names) {
      if (name == empty_name) continue;
      const Var& v = block.var(name);
      if (v.shape == shape) {
        const auto init = v.persistable ? whole.find(name) : whole.end();
        if (init != whole.end())
          return text("the op ", init->second->type, " that makes the first value of '", name,
                      "' makes it in one piece");
      } else if (v.shape.numel() != 1) {
        return text("the shape ", v.shape, " of '", name, "' in its update is another than its ",
                    shape);
      }
    }
  }
  return "";
}

// An op on sparse gradients must mean the same on dense ones.
void check_works_dense(const Op& op) {
  const bool lazy = op.attrs.get<bool>("lazy_mode", false);
  const bool only_sparse =
      op.type == "merge_selected_rows" || op.type == "get_tensor_from_selected_rows";
  require(!lazy && !only_sparse, config, "the op ", op.type, lazy ? " with lazy_mode" : "",
          " of the update works on sparse gradients, which pservers do not take: set is_sparse: "
          "false in the embedding",
          lazy ? ", or lazy_mode: false in the optimizer" : "", " (", op_text(op), ")");
}

// The gradient of a table, and the parts that it is summed of.
void leave_sparse(const Block& block, const TableSpec& table, std::set<std::string>& sparse) {
  sparse.erase(table.grad);
  for (const auto& op : block.ops()) {
    if (op->in["W"] == Names{table.param})
      for (const std::string& part : op->out["W@GRAD"]) sparse.erase(part);
    if (op->out.uses(table.grad))
      for (const std::string& part : op->in.all()) sparse.erase(part);
  }
}

void check_param(const Block& block, const ParamUpdate& u,
                 const std::unordered_set<std::string>& made) {
  const Var& param = block.var(u.names.param);
  require(param.shape.known(), config, "the shape ", param.shape, " of the parameter '",
          u.names.param, "' is not known: give all its lengths");
  const Var& grad = block.var(u.names.grad);
  require(grad.shape == param.shape && grad.dtype == param.dtype, config, "the gradient '",
          u.names.grad, "' is ", name_of(grad.dtype), " ", grad.shape, ", but its parameter '",
          u.names.param, "' is ", name_of(param.dtype), " ", param.shape);
  require(made.count(u.names.grad) > 0, config, "no op of the trainer makes the gradient '",
          u.names.grad, "' of '", u.names.param, "'");
}

}  // namespace

bool is_sliceable_init(const Op& op) {
  constexpr std::array types = {"assign_value", "fill_constant", "gaussian_random",
                                "truncated_gaussian_random", "uniform_random"};
  return contains(types, op.type) && op.in.all().empty();
}

Names make_gradients_dense(Program& main) {
  Block& block = main.global();
  std::set<std::string> sparse;
  for (const auto& v : block.vars())
    if (v->kind == VarKind::selected_rows) sparse.insert(v->name);
  for (const TableSpec& t : main.tables) leave_sparse(block, t, sparse);
  const auto has_sparse = [&](const Names& names) {
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string& n) { return sparse.count(n) > 0; });
  };
  Names tables;
  for (const auto& op : block.ops()) {
    if (!has_sparse(op->in.all()) && !has_sparse(op->out.all())) continue;
    check_works_dense(*op);
    if (op->attrs.get<bool>("is_sparse", false) && op->in.has("W")) {
      if (!contains(tables, op->in["W"][0])) tables.push_back(op->in["W"][0]);
      op->attrs.set("is_sparse", false);
    }
    infer_op(*op, block);
  }
  for (const auto& op : block.ops())  // the forward op says the same as its gradient
    if (op->type.starts_with("lookup_table") && op->in.has("W") && contains(tables, op->in["W"][0]))
      op->attrs.set("is_sparse", false);
  main.touch();
  return tables;
}

CutParts find_parts(const Program& main, const Program& startup) {
  const Block& block = main.global();
  CutParts parts;
  std::map<std::string, size_t> place;
  for (const auto& op : block.ops()) {
    require(op->type != "send" && op->type != "recv" && op->type != "listen_and_serv", config,
            "the program is half of a cut already (it has the op ", op->type,
            "): cut the program that minimize() made");
    if (CutParts::is_schedule(*op)) {
      parts.lr_ops.push_back(op.get());
      for (const std::string& name : op->out.all()) parts.lr_made.insert(name);
    }
    if (!CutParts::is_update(*op)) continue;
    const auto names = op->attrs.get<Strings>(role::var_attr, {});
    require(names.size() >= 2, config, "an op of the optimizer does not say whose update it is ",
            "part of: set its op_role_var to [parameter, gradient] (", op_text(*op), ")");
    const auto [it, fresh] = place.emplace(names[0], parts.updates.size());
    if (fresh) parts.updates.push_back({.names = {names[0], names[1]}});
    parts.updates[it->second].ops.push_back(op.get());
    for (const std::string& name : op->out.all()) parts.updated.insert(name);
  }
  require(!parts.updates.empty() || !main.tables.empty(), config,
          "the program has no optimizer, so there is nothing that pservers could do: call "
          "minimize(), or give the job an optimizer");
  const Writers writers(parts);
  const WholeInitializers whole = whole_initializers(startup);
  std::unordered_set<std::string> made;  // by the trainer
  for (const auto& op : block.ops())
    if (!CutParts::leaves(*op))
      for (const std::string& name : op->out.all()) made.insert(name);
  for (ParamUpdate& u : parts.updates) {
    check_param(block, u, made);
    check_update(block, u, parts, writers);
    u.whole_because = why_whole(block, whole, u);
  }
  check_schedule(block, parts);
  check_trainer(block, parts);
  return parts;
}

}  // namespace paddle
