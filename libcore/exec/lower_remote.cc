#include "exec/lower_remote.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "graph/op_def.h"

namespace paddle {
namespace {

constexpr auto config = Error::Kind::config;

int32_t param_of(const Op& op) {
  const auto index = op.attrs.get<int32_t>("param", -1);
  require(index >= 0, config, "a ", op.type,
          " op does not number its parameter, so it comes from another program's cut: cut the "
          "program that was trained in one process (",
          op_text(op), ")");
  return index;
}

// The variable that stands for all of `parts`: themselves where there is one, else the one that
// `whole_of` maps every part to.
std::string whole(const Op& op, const Names& parts,
                  const std::map<std::string, std::string>& whole_of) {
  const auto it = whole_of.find(parts.empty() ? "" : parts[0]);
  const std::string name = it != whole_of.end() ? it->second : parts.empty() ? "" : parts[0];
  require(parts.size() == 1 || it != whole_of.end(), config, "a ", op.type, " op moves ",
          parts.size(), " parts that no split_byref or concat op joins (", op_text(op), ")");
  for (const std::string& part : parts) {
    const auto other = whole_of.find(part);
    require((other == whole_of.end() ? part : other->second) == name, config, "a ", op.type,
            " op moves parts of more than one variable (", op_text(op), ")");
  }
  return name;
}

bool is_barrier(const Op& op) { return op.type == "send_barrier" || op.type == "fetch_barrier"; }

// A user may split and concat too; the ops of the cut carry its role.
bool is_of_cut(const Op& op, std::string_view type) {
  return op.type == type && op.role() == role::dist;
}

}  // namespace

Names RemoteOps::pushed() const {
  Names out;
  for (const Transfer& t : pushes) out.push_back(t.var);
  return out;
}

RemoteOps take_remote_ops(std::vector<Op>& ops, const Block& block) {
  std::map<std::string, std::string> split_from, joined_to;
  for (const Op& op : ops) {
    if (is_of_cut(op, "split_byref"))
      for (const std::string& part : op.out["Out"]) split_from[part] = op.in["X"][0];
    if (is_of_cut(op, "concat"))
      for (const std::string& part : op.in["X"]) joined_to[part] = op.out["Out"][0];
  }
  RemoteOps remote;
  std::vector<Op> left;
  for (Op& op : ops) {
    if (op.type == "send") {
      const std::string grad = whole(op, op.in["X"], split_from);
      require(block.var(grad).kind == VarKind::lod_tensor, config, "cannot push '", grad,
              "': it holds selected rows, and shards take dense gradients");
      remote.pushes.push_back({grad, param_of(op)});
    } else if (op.type == "recv") {
      if (op.attrs.get<bool>("do_not_run", false)) continue;
      remote.pulls.push_back({whole(op, op.out["Out"], joined_to), param_of(op)});
    } else if (!is_barrier(op) && !is_of_cut(op, "split_byref") && !is_of_cut(op, "concat")) {
      left.push_back(std::move(op));
    }
  }
  ops = std::move(left);
  return remote;
}

void place_remote_ops(std::vector<Op>& ops, const RemoteOps& remote) {
  for (const RemoteOps::Transfer& t : remote.pushes) {
    const auto last =
        std::find_if(ops.rbegin(), ops.rend(), [&](const Op& op) { return op.out.uses(t.var); });
    require(last != ops.rend(), config, "the gradient '", t.var,
            "' is sent, but no op computes it");
    Op push{.type = "push", .in = {{"X", {t.var}}}, .attrs = {{"param", t.param}}};
    conform(push);
    ops.insert(last.base(), std::move(push));
  }
  for (const RemoteOps::Transfer& t : remote.pulls) {
    // One that nothing reads is pulled all the same: its version must not fall behind.
    auto first =
        std::find_if(ops.begin(), ops.end(), [&](const Op& op) { return op.in.uses(t.var); });
    if (first == ops.end()) first = ops.begin();
    Op pull{.type = "pull", .out = {{"Out", {t.var}}}, .attrs = {{"param", t.param}}};
    conform(pull);
    ops.insert(first, std::move(pull));
  }
}

}  // namespace paddle
