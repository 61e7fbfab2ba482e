#include "graph/find_tables.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "graph/cut_parts.h"
#include "graph/op_def.h"

namespace paddle {
namespace {

constexpr auto no_table = Error::Kind::config;

struct Candidate {
  bool is_distributed = false, is_sparse = false;
  std::set<const Op*> lookups;
  std::vector<const Op*> update;
  const Op* other = nullptr;  // an op that a table cannot serve
};

bool is_only(const Names& list, const std::string& name) {
  return list.size() == 1 && list[0] == name;
}

// Candidates in the order of their first lookups.
std::vector<std::pair<std::string, Candidate>> candidates(const Program& program,
                                                          const Block& block) {
  std::vector<std::pair<std::string, Candidate>> out;
  std::map<std::string, size_t> place;
  for (const auto& op : block.ops()) {
    if (!is_lookup(*op) || op->in["W"].size() != 1) continue;
    const auto [it, fresh] = place.emplace(op->in["W"][0], out.size());
    if (fresh) out.push_back({op->in["W"][0], {}});
    Candidate& c = out[it->second].second;
    c.is_distributed |= op->attrs.get<bool>("is_distributed", false);
    c.is_sparse |= op->attrs.get<bool>("is_sparse", false);
  }
  std::erase_if(out, [](const auto& c) { return !c.second.is_distributed && !c.second.is_sparse; });
  place.clear();
  for (size_t i = 0; i < out.size(); ++i) place[out[i].first] = i;
  for (size_t b = 0; b < program.num_blocks(); ++b) {
    const Block& in = program.block(static_cast<int32_t>(b));
    for (const auto& op : in.ops()) {
      const auto role_var = op->attrs.get<Strings>(role::var_attr, {});
      const std::string owner = CutParts::is_update(*op) && !role_var.empty() ? role_var[0] : "";
      if (const auto it = place.find(owner); it != place.end() && &in == &block)
        out[it->second].second.update.push_back(op.get());
      for (const Slots* slots : {&op->in, &op->out})
        for (const std::string& name : slots->all()) {
          const auto it = place.find(name);
          if (it == place.end()) continue;
          Candidate& c = out[it->second].second;
          const bool looks_up = (is_lookup(*op) || is_lookup_grad(*op)) && &in == &block &&
                                op->in["W"] == Names{name};
          if (looks_up) c.lookups.insert(op.get());
          if (!looks_up && owner != name) c.other = op.get();
        }
    }
  }
  return out;
}

// The update of one candidate, taken apart.
struct Update {
  const Op* rule = nullptr;
  std::string grad;  // that of the backward ops
  float l2 = 0;
  std::string why_not;  // not "": it is no update that a table can do
};

Update update_of(const std::string& param, const std::vector<const Op*>& ops) {
  Update u;
  for (const Op* op : ops)
    if (op_def(op->type).keeps_other_rows != nullptr && is_only(op->in["Param"], param)) {
      if (u.rule != nullptr) u.why_not = "it has several optimizer ops";
      u.rule = op;
    }
  if (u.rule == nullptr) {
    u.why_not = "no optimizer op updates it";
    return u;
  }
  u.grad = u.rule->in["Grad"][0];
  std::set<const Op*> used = {u.rule};
  const Names read = u.rule->in.all();
  for (const Op* sum : ops) {  // L2: sum(grad, scale(param))
    if (sum->type != "sum" || !is_only(sum->out["Out"], u.grad) || sum->in["X"].size() != 2)
      continue;
    for (const Op* scale : ops)
      if (scale->type == "scale" && is_only(scale->in["X"], param) &&
          is_only(scale->out["Out"], sum->in["X"][1])) {
        u.l2 = scale->attrs.get<float>("scale", 1);
        u.grad = sum->in["X"][0];
        used.insert({sum, scale});
        break;
      }
  }
  for (const Op* op : ops) {  // powers of adam's betas move on
    const Names out = op->out["Out"];
    const bool power = op->type == "scale" && out.size() == 1 && op->in["X"] == out &&
                       std::count(read.begin(), read.end(), out[0]) > 0;
    if (!power && !used.count(op) && u.why_not.empty())
      u.why_not = text("the op ", op->type, " is part of its update (", op_text(*op), ")");
  }
  return u;
}

// Why the parameter cannot be a table at all; "" where it can.
std::string why_no_table(const Block& block, const std::string& param, const Candidate& c) {
  const Var& v = block.var(param);
  if (c.other != nullptr) return text("an op that looks up no rows uses it: ", op_text(*c.other));
  if (v.dtype != DType::f32) return text("its elements are ", name_of(v.dtype), ", not float32");
  if (v.shape.rank() != 2 || v.shape[1] <= 0)
    return text("its shape is ", v.shape, ", not [rows, width]");
  return "";
}

void fill_update(const Block& block, const Update& u, const TableSearch& search, TableSpec& spec) {
  const OpDef& def = op_def(u.rule->type);
  spec.rule = u.rule->type;
  spec.grad = u.grad;
  spec.l2 = u.l2;
  spec.settings.clear();
  for (const auto& [name, fallback] : def.attrs)
    spec.settings.emplace_back(name, std::holds_alternative<bool>(fallback)
                                         ? static_cast<float>(u.rule->attrs.get<bool>(name, false))
                                         : u.rule->attrs.get<float>(name, 0));
  for (const auto& [slot, key] : def.first_values) {
    if (!u.rule->in.has(slot) || !search.first_rows) continue;
    if (const auto first = search.first_rows(u.rule->in[slot][0]); first && first->a != 0)
      spec.settings.emplace_back(key, first->a);
  }
  if (u.rule->in.has("LearningRate")) spec.learning_rate = u.rule->in["LearningRate"][0];
  require(block.find(spec.grad) != nullptr, no_table, "the gradient '", spec.grad, "' of '",
          spec.param, "' is no variable of the program");
}

// Variables that nobody but the update uses.
Names own_variables(const Block& block, const FoundTable& t) {
  std::set<std::string> own, others = {t.spec.param, t.spec.grad, t.spec.learning_rate};
  for (const auto& op : block.ops())
    for (const Slots* slots : {&op->in, &op->out})
      for (const std::string& n : slots->all()) (t.update.count(op.get()) ? own : others).insert(n);
  std::erase_if(own, [&](const std::string& n) { return others.count(n) > 0; });
  return {own.begin(), own.end()};
}

// The table of a candidate; nothing where it stays a parameter like others.
std::optional<FoundTable> table_of(const Block& block, const std::string& param, const Candidate& c,
                                   const TableSearch& search) {
  const auto refuse = [&](const std::string& why) {
    require(!c.is_distributed, no_table, "the parameter '", param,
            "' of an embedding with is_distributed cannot be a sparse table: ", why,
            "; take that out, or set is_distributed: false");
  };
  if (!c.is_distributed && !search.sparse_too) return std::nullopt;
  if (const std::string why = why_no_table(block, param, c); !why.empty()) {
    refuse(why);
    return std::nullopt;
  }
  const Var& v = block.var(param);
  FoundTable t{.lookups = c.lookups, .is_distributed = c.is_distributed};
  if (v.param && v.param->table) t.spec = *v.param->table;
  t.spec.param = param;
  t.spec.width = v.shape[1];
  t.spec.height = v.shape[0];
  t.spec.first_values_sent = !c.is_distributed;
  if (search.first_rows)
    if (const auto first = search.first_rows(param)) {
      t.spec.init = first->init;
      t.spec.init_a = first->a;
      t.spec.init_b = first->b;
      t.spec.seed = first->seed;
    }
  if (c.update.empty()) return c.is_distributed ? std::optional(t) : std::nullopt;
  const Update u = update_of(param, c.update);
  if (!u.why_not.empty()) {
    refuse(u.why_not);
    return std::nullopt;
  }
  const bool exact = op_def(u.rule->type).keeps_other_rows(*u.rule) && u.l2 == 0;
  if (!exact && !c.is_distributed) return std::nullopt;
  if (!exact)
    t.note = text("the table '", param, "' applies ", u.rule->type, u.l2 != 0 ? " and L2" : "",
                  " to the rows that a batch names; other rows stay as they are");
  fill_update(block, u, search, t.spec);
  t.update.insert(c.update.begin(), c.update.end());
  t.own = own_variables(block, t);
  for (const SlotDef& slot : op_def(u.rule->type).in)
    if (u.rule->in.has(slot.name)) t.inputs[slot.name] = u.rule->in[slot.name][0];
  return t;
}

}  // namespace

bool is_lookup(const Op& op) { return op.type == "lookup_table" || op.type == "lookup_table_v2"; }
bool looks_up(const Program& program, const std::string& param) {
  const auto& ops = program.global().ops();
  return std::any_of(ops.begin(), ops.end(), [&](const auto& op) {
    return is_lookup(*op) && op->in["W"].size() == 1 && op->in["W"][0] == param;
  });
}
bool is_lookup_grad(const Op& op) {
  return op.type == "lookup_table_grad" || op.type == "lookup_table_v2_grad";
}

std::optional<FirstRows> first_rows_of(const Op& op, uint32_t program_seed) {
  const Attrs& a = op.attrs;
  FirstRows out;
  const auto own_seed = static_cast<uint32_t>(a.get<int32_t>("seed", 0));
  out.seed = own_seed != 0 ? own_seed : program_seed;
  if (op.type == "fill_constant") {
    out.a = a.get<float>("value", 0);
  } else if (op.type == "uniform_random") {
    out = {"uniform", a.get<float>("min", -1), a.get<float>("max", 1), out.seed};
  } else if (op.type == "gaussian_random") {
    out = {"normal", a.get<float>("mean", 0), a.get<float>("std", 1), out.seed};
  } else if (op.type == "truncated_gaussian_random") {
    out = {"truncated_normal", a.get<float>("mean", 0), a.get<float>("std", 1), out.seed};
  } else {
    return std::nullopt;
  }
  return out;
}

std::optional<FirstRows> first_rows_of(const Program& startup, const std::string& var) {
  const Op* maker = nullptr;
  for (const auto& op : startup.global().ops()) {
    if (!op->out.uses(var)) continue;
    if (maker != nullptr) return std::nullopt;
    maker = op.get();
  }
  return maker == nullptr ? std::nullopt : first_rows_of(*maker, startup.random_seed);
}

std::vector<FoundTable> find_tables(const Program& program, const Block& block,
                                    const TableSearch& search) {
  std::vector<FoundTable> out;
  for (const auto& [param, candidate] : candidates(program, block))
    if (auto t = table_of(block, param, candidate, search)) out.push_back(std::move(*t));
  return out;
}

TakenTables take_tables(Program& main, const Program& startup) {
  Block& block = main.global();
  const std::vector<FoundTable> found =
      find_tables(main, block, {.sparse_too = true, .first_rows = [&](const std::string& var) {
                                  return first_rows_of(startup, var);
                                }});
  TakenTables taken;
  std::set<const Op*> lookups, gone;
  std::set<std::string> own;
  for (const FoundTable& t : found) {
    const TableSpec& spec = t.spec;
    require(!spec.grad.empty(), no_table, "nothing trains the table '", spec.param,
            "', and pservers keep what is trained: set is_distributed: false in its embedding");
    require(!t.is_distributed || first_rows_of(startup, spec.param), no_table,
            "the first values of the table '", spec.param,
            "' are made in one piece: give it an initializer that is constant, uniform, normal or "
            "truncated normal");
    if (!t.note.empty()) taken.notes.push_back(t.note);
    lookups.insert(t.lookups.begin(), t.lookups.end());
    gone.insert(t.update.begin(), t.update.end());
    own.insert(t.own.begin(), t.own.end());
    if (t.is_distributed) taken.states.insert(t.own.begin(), t.own.end());
    main.tables.push_back(spec);
    taken.inputs.push_back(t.inputs);
  }
  for (const auto& op : block.ops()) {
    if (gone.count(op.get())) continue;
    if (lookups.count(op.get())) op->attrs.set("is_sparse", true);
    if (op->type == "sum" || lookups.count(op.get())) infer_op(*op, block);
  }
  for (const TableSpec& spec : main.tables)
    require(block.var(spec.grad).kind == VarKind::selected_rows, no_table, "the gradient '",
            spec.grad, "' of the table '", spec.param,
            "' has parts that are no rows: only lookups may read a table");
  block.remove_ops([&](const Op& op) { return gone.count(&op) > 0; });
  block.remove_vars(own);
  main.touch();
  return taken;
}

void mark_tables(Program& program, const std::function<bool(const std::string& param)>& is_kept) {
  for (const auto& op : program.global().ops())
    if (is_lookup(*op) && op->attrs.get<bool>("is_distributed", false) && op->in["W"].size() == 1)
      if (Var* v = program.global().find(op->in["W"][0]); v && is_kept(v->name)) v->table = v->name;
}

Names table_names(const Program& program) {
  Names out;
  for (const auto& v : program.global().vars())
    if (v->table == v->name && !v->name.empty()) out.push_back(v->name);
  return out;
}

}  // namespace paddle
