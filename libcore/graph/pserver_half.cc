#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/error.h"
#include "graph/halves.h"

namespace paddle {
namespace {

// A copy of an op's slots or names with the variables of a slice in place of the parameter's.
class Renaming {
 public:
  explicit Renaming(const SliceSpec& slice) : slice_(slice) {}

  std::string of(const std::string& name) const {
    if (name == slice_.param) return slice_.name;
    return name == slice_.grad ? slice_.merged_grad : name;
  }
  Names of(Names names) const {
    for (std::string& n : names) n = of(n);
    return names;
  }
  Slots of(const Slots& slots) const {
    Slots out;
    for (const auto& [slot, names] : slots) out.set(slot, of(names));
    return out;
  }

 private:
  const SliceSpec& slice_;
};

Names all_names(const Op& op) {
  Names names = op.in.all();
  const Names outs = op.out.all();
  names.insert(names.end(), outs.begin(), outs.end());
  std::erase(names, empty_name);
  return names;
}

class Maker {
 public:
  Maker(const Program& main, const Program& startup, const CutParts& parts,
        const TranspileOptions& options)
      : main_(main.global()), startup_(startup), parts_(parts), options_(options) {
    half_.main.random_seed = main.random_seed;
    half_.startup.random_seed = startup.random_seed;
  }

  PserverHalf make(std::vector<SliceSpec>& slices, size_t shard) {
    Block& global = half_.main.global();
    int32_t parent = 0;
    if (!parts_.lr_ops.empty()) parent = add_schedule();
    for (const TableSpec& t : main_.program().tables)
      if (const Var* v = main_.find(t.learning_rate); v && !has(v->name))
        keep(*v, v->name, v->shape, 0);
    BlockRefs blocks;
    if (parent > 0) blocks.indices.push_back(parent);
    Strings grad_to_block;
    Names inputs;
    for (SliceSpec& s : slices) {
      if (s.shard != shard) continue;
      Block& block = half_.main.append_block(parent);
      s.block = block.idx();
      blocks.indices.push_back(s.block);
      const Names given = add_slice(s, block);
      grad_to_block.push_back(text(s.merged_grad, ":", s.block));
      inputs.insert(inputs.end(), given.begin(), given.end());
    }
    if (grad_to_block.empty())  // a server without slices still has a block to run
      blocks.indices.push_back(half_.main.append_block(parent).idx());
    const OpRoleGuard guard(half_.main, role::rpc);
    global.append({.type = "listen_and_serv",
                   .in = {{"X", inputs}},
                   .attrs = {{"endpoint", all_endpoints(options_)[shard]},
                             {"Fanin", static_cast<int32_t>(options_.trainers)},
                             {"sync_mode", options_.sync},
                             {"pserver_id", static_cast<int32_t>(shard)},
                             {"optimize_blocks", blocks},
                             {"lr_decay_block_id", parent > 0 ? parent : -1},
                             {"grad_to_block_id", grad_to_block}}});
    add_startup();
    return std::move(half_);
  }

 private:
  // What outlives a block stands in block 0; the first values are made by the same names.
  void keep(Var v, const std::string& origin, const Shape& shape, int64_t first_row) {
    v.shape = shape;
    v.persistable = true;
    kept_.push_back({.name = v.name, .origin = origin, .shape = shape, .first_row = first_row});
    half_.main.global().create(std::move(v));
  }
  bool has(const std::string& name) const {
    return half_.main.global().find_local(name) != nullptr;
  }

  // The learning rate is computed once a step, in a block of its own, for the slices to read.
  int32_t add_schedule() {
    Block& block = half_.main.append_block(0);
    std::set<std::string> read;
    for (const ParamUpdate& u : parts_.updates)
      for (const Op* op : u.ops)
        for (const std::string& name : op->in.all()) read.insert(name);
    for (const TableSpec& t : main_.program().tables) read.insert(t.learning_rate);
    for (const Op* op : parts_.lr_ops) {
      for (const std::string& name : all_names(*op)) {
        const Var& v = main_.var(name);
        if (v.persistable || read.count(name)) {
          if (!has(name)) keep(v, name, v.shape, 0);
        } else {
          block.create(v);
        }
      }
      block.append(*op);
    }
    return block.idx();
  }

  // The ops that update one slice. Returns the variables that its gradients arrive in.
  Names add_slice(SliceSpec& s, Block& block) {
    const Var& param = main_.var(s.param);
    s.merged_grad = slice_name(s.grad, s);
    Var slice = param;
    slice.name = s.name;
    keep(std::move(slice), s.param, s.shape, s.first_row);
    Var merged = main_.var(s.grad);
    merged.name = s.merged_grad;
    merged.shape = s.shape;
    merged.persistable = true;
    half_.main.global().create(merged);
    const Names arriving = add_average(s, merged, block);
    const Renaming renamed(s);
    for (const Op* op : parts_.updates[static_cast<size_t>(s.param_index)].ops) {
      for (const std::string& name : all_names(*op)) declare(s, param, name, block);
      Op copy = *op;
      copy.in = renamed.of(op->in);
      copy.out = renamed.of(op->out);
      copy.attrs.set(role::var_attr, renamed.of(op->attrs.get<Strings>(role::var_attr)));
      block.append(std::move(copy));
    }
    return arriving;
  }

  // Sync and several trainers: the mean of what they send, summed in the order of their ids.
  Names add_average(const SliceSpec& s, const Var& merged, Block& block) {
    if (!options_.sync || options_.trainers == 1) return {s.merged_grad};
    Names arriving;
    for (uint32_t i = 0; i < options_.trainers; ++i) {
      Var v = merged;
      v.name = text(s.merged_grad, ".trainer_", i);
      v.persistable = false;
      arriving.push_back(v.name);
      half_.main.global().create(std::move(v));
    }
    const OpRoleGuard guard(half_.main, role::dist, {s.name, s.merged_grad});
    block.append(
        {.type = "sum", .in = {{"X", arriving}}, .out = {{"Out", {s.merged_grad}}}, .attrs = {}});
    block.append({.type = "scale",
                  .in = {{"X", {s.merged_grad}}},
                  .out = {{"Out", {s.merged_grad}}},
                  .attrs = {{"scale", 1.0f / static_cast<float>(options_.trainers)}}});
    return arriving;
  }

  // A variable of an update: state and rates keep their names, and state the slice's shape. There
  // is one slice of a parameter in a shard, so names do not meet.
  void declare(SliceSpec& s, const Var& param, const std::string& name, Block& block) {
    if (name == s.param || name == s.grad) return;
    Var v = main_.var(name);
    const bool as_slice = v.shape == param.shape;
    if (as_slice) v.shape = s.shape;
    if (!v.persistable) {
      if (!parts_.lr_made.count(name)) block.create(std::move(v));
      return;
    }
    const bool state = parts_.updated.count(name) > 0;
    if (state && std::find(s.states.begin(), s.states.end(), name) == s.states.end())
      s.states.push_back(name);
    const Shape shape = v.shape;
    if (!has(name)) keep(std::move(v), name, shape, as_slice ? s.first_row : 0);
  }

  // A variable whose first value the startup program makes: rows of a variable of the original.
  struct Kept {
    std::string name, origin;
    Shape shape;
    int64_t first_row = 0;
  };

  void add_startup() {
    Block& to = half_.startup.global();
    std::set<std::string> needed;  // what ops that are taken as they stand read
    std::unordered_map<std::string, size_t> by_origin;
    for (size_t i = 0; i < kept_.size(); ++i) by_origin.emplace(kept_[i].origin, i);
    std::vector<Op> ops;
    const auto& from = startup_.global().ops();
    for (size_t i = from.size(); i-- > 0;) {
      Op op = *from[i];
      const Names outs = op.out.all();
      // The first that was kept of what the op makes.
      auto kept = kept_.end();
      for (const std::string& n : outs)
        if (const auto it = by_origin.find(n); it != by_origin.end())
          kept = std::min(kept, kept_.begin() + static_cast<ptrdiff_t>(it->second));
      const bool wanted = std::any_of(outs.begin(), outs.end(),
                                      [&](const std::string& n) { return needed.count(n) > 0; });
      if (kept == kept_.end() && !wanted) continue;
      for (const std::string& n : op.in.all()) needed.insert(n);
      if (kept != kept_.end()) take_rows(op, *kept);
      ops.push_back(std::move(op));
    }
    for (const Kept& k : kept_) to.create(*half_.main.global().find_local(k.name));
    for (const std::string& n : needed)
      if (const Var* v = startup_.global().find(n)) to.create(*v);
    std::reverse(ops.begin(), ops.end());
    for (Op& op : ops) to.append(std::move(op));
  }

  // The same op for some of the rows. Random values are then other ones than the whole would have
  // had: what trainers bring counts, this is the first value where nobody brings one.
  void take_rows(Op& op, const Kept& k) {
    op.out.rename(k.origin, k.name);
    if (!is_sliceable_init(op)) return;
    const Shape whole = startup_.global().var(k.origin).shape;
    if (k.shape == whole) return;
    if (op.type == "assign_value") {
      op.attrs.set("shape", Ints(k.shape.begin(), k.shape.end()));
      const auto begin = static_cast<size_t>(k.first_row * whole.product(1, whole.rank()));
      const auto end = begin + static_cast<size_t>(k.shape.numel());
      take_values<Floats>(op, "fp32_values", begin, end);
      take_values<Ints>(op, "int32_values", begin, end);
    } else {
      op.attrs.set("shape", Longs(k.shape.begin(), k.shape.end()));
    }
  }

  template <class List>
  static void take_values(Op& op, std::string_view attr, size_t begin, size_t end) {
    const auto all = op.attrs.get<List>(attr, {});
    if (all.size() < end) return;
    op.attrs.set(attr, List(all.begin() + static_cast<ptrdiff_t>(begin),
                            all.begin() + static_cast<ptrdiff_t>(end)));
  }

  const Block& main_;
  const Program& startup_;
  const CutParts& parts_;
  const TranspileOptions& options_;
  PserverHalf half_;
  std::vector<Kept> kept_;
};

}  // namespace

std::string slice_name(const std::string& whole, const SliceSpec& slice) {
  return slice.name == slice.param ? whole : text(whole, ".block", slice.index);
}

PserverHalf pserver_half(const Program& main, const Program& startup, const CutParts& parts,
                         std::vector<SliceSpec>& slices, size_t shard,
                         const TranspileOptions& options) {
  return Maker(main, startup, parts, options).make(slices, shard);
}

}  // namespace paddle
