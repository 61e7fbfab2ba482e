#include "exec/lower_tables.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "graph/op_def.h"

namespace paddle {
namespace {

constexpr auto bad_plan = Error::Kind::config;

bool holds_value(const Scope& scope, const std::string& name) {
  const Variable* v = scope.find(name);
  return v != nullptr && !v->tensor.empty();
}

bool writes(const Block& block, const std::string& name) {
  return !name.empty() && std::any_of(block.ops().begin(), block.ops().end(),
                                      [&](const auto& op) { return op->out.uses(name); });
}

// Program::tables: the lookups of the block that read them.
void take_given(const Program& program, const Block& block, PlanTables& out) {
  std::set<std::string> params;
  for (const TableSpec& spec : program.tables) {
    out.tables.push_back({.spec = spec, .pushes = writes(block, spec.grad)});
    params.insert(spec.param);
  }
  for (const auto& op : block.ops())
    if ((is_lookup(*op) || is_lookup_grad(*op)) && op->in["W"].size() == 1 &&
        params.count(op->in["W"][0]))
      out.lookups.insert(op.get());
}

void take_found(const Program& program, const Block& block, const Scope& scope, PlanTables& out) {
  for (FoundTable& t : find_tables(program, block, {})) {
    if (holds_value(scope, t.spec.param)) continue;
    PlanTable table{.spec = t.spec, .pushes = !t.spec.grad.empty()};
    for (const Op* op : t.update)
      for (const auto& [slot, key] : op_def(op->type).first_values)
        if (op->in.has(slot)) table.state_firsts.emplace_back(key, op->in[slot][0]);
    out.tables.push_back(std::move(table));
    out.lookups.insert(t.lookups.begin(), t.lookups.end());
    out.gone.insert(t.update.begin(), t.update.end());
  }
  out.local = true;
}

// Ops without inputs that make what a table keeps.
void take_started(const Block& block, PlanTables& out) {
  for (const auto& op : block.ops()) {
    const Names outs = op->out.all();
    if (outs.size() != 1 || !op->in.all().empty()) continue;
    const Var* v = block.find(outs[0]);
    if (v == nullptr || v->table.empty()) continue;
    out.started.emplace_back(v, op.get());
    out.gone.insert(op.get());
  }
}

bool reads_table(const Op& op, const std::string& param) {
  const bool lookup = is_lookup(op) || is_lookup_grad(op) ||
                      op.type == "fused_embedding_seq_pool" ||
                      op.type == "fused_embedding_seq_pool_grad";
  return lookup && op.in["W"].size() == 1 && op.in["W"][0] == param;
}

// Ids that are computed behind the first lookup: what computes them moves in front of it. Returns
// where the first lookup stands then.
class Hoist {
 public:
  Hoist(std::vector<Op>& ops, const std::string& param, size_t first)
      : ops_(ops), param_(param), first_(first) {}

  // `readers` are the places of the first lookups of `ids`.
  size_t run(const Names& ids, const std::vector<size_t>& readers) {
    for (size_t i = 0; i < ids.size(); ++i) need(ids[i], readers[i]);
    std::vector<Op> moved, rest;
    for (size_t i = first_; i < ops_.size(); ++i) {
      if (!moves_.count(i)) {
        rest.push_back(std::move(ops_[i]));
        continue;
      }
      moved.push_back(std::move(ops_[i]));
    }
    ops_.resize(first_);
    std::move(moved.begin(), moved.end(), std::back_inserter(ops_));
    const size_t at = ops_.size();
    std::move(rest.begin(), rest.end(), std::back_inserter(ops_));
    return at;
  }

 private:
  // The op at or behind the first lookup that writes `name` before `end`.
  void need(const std::string& name, size_t end) {
    size_t writer = ops_.size();
    for (size_t i = first_; i < end; ++i) {
      if (!ops_[i].out.uses(name)) continue;
      check(writer == ops_.size(), ops_[i], name);
      writer = i;
    }
    if (writer == ops_.size() || !moves_.insert(writer).second) return;
    const Op& op = ops_[writer];
    check(!reads_table(op, param_), op, name);
    for (const std::string& out : op.out.all())  // who stays must not see it earlier
      for (size_t i = first_; i < writer; ++i)
        check(!ops_[i].in.uses(out) && !ops_[i].out.uses(out), op, name);
    for (const std::string& in : op.in.all()) need(in, writer);
  }
  void check(bool ok, const Op& op, const std::string& name) const {
    require(ok, bad_plan, "the rows of the table '", param_,
            "' are fetched once per batch, before its first lookup, and the ids '", name,
            "' of a later one cannot be computed before it (", op_text(op),
            "): give the later lookup a table of its own");
  }

  std::vector<Op>& ops_;
  const std::string& param_;
  size_t first_;
  std::set<size_t> moves_;
};

// Replaces the lookups of one table.
class Lowering {
 public:
  Lowering(std::vector<Op>& ops, const PlanTable& table, int32_t number, bool rates,
           std::vector<Var>& vars)
      : ops_(ops), table_(table), number_(number), rates_(rates), vars_(vars) {
    const std::string& param = table.spec.param;
    rows_ = param + "@ROWS";
    distinct_ = param + "@IDS";
    count_ = param + "@COUNT";
  }

  void run() {
    size_t first = ops_.size();
    for (size_t i = ops_.size(); i-- > 0;)
      if (reads_table(ops_[i], table_.spec.param)) first = i;
    if (first == ops_.size()) return;  // nothing of this table is needed
    add_var(rows_, DType::f32, {-1, table_.spec.width});
    add_var(distinct_, DType::i64, {-1});
    add_var(count_, DType::i64, {1});
    Op pull = lowered_lookups();
    first = Hoist(ops_, table_.spec.param, first).run(pull.in["Ids"], readers_);
    ops_.insert(ops_.begin() + static_cast<ptrdiff_t>(first), std::move(pull));
    if (table_.pushes) place_push();
  }

 private:
  void add_var(const std::string& name, DType dtype, const Shape& shape, int32_t lod_level = 0) {
    vars_.push_back({.name = name, .dtype = dtype, .shape = shape, .lod_level = lod_level});
  }

  // Lookups read numbers in place of ids, and padding is number 0.
  Op lowered_lookups() {
    std::map<std::pair<std::string, int64_t>, std::string> numbers;
    Names ids, number_vars;
    Longs paddings;
    for (size_t i = 0; i < ops_.size(); ++i) {
      Op& op = ops_[i];
      if (!reads_table(op, table_.spec.param)) continue;
      const auto padding = op.attrs.get<int64_t>("padding_idx", -1);
      const std::string name = op.in["Ids"][0];
      const auto [it, fresh] = numbers.emplace(std::pair(name, padding), "");
      if (fresh) {
        it->second = text(table_.spec.param, "@NUMBERS@", numbers.size(), "@", name);
        add_var(it->second, DType::i64, {-1});
        ids.push_back(name);
        readers_.push_back(i);
        number_vars.push_back(it->second);
        paddings.push_back(padding);
      }
      op.in.set("W", {rows_});
      op.in.set("Ids", {it->second});
      op.attrs.set("padding_idx", int64_t{padding == -1 ? -1 : 0});
    }
    Op pull{.type = "pull_rows",
            .in = {{"Ids", ids}},
            .out = {{"Rows", {rows_}},
                    {"Distinct", {distinct_}},
                    {"Count", {count_}},
                    {"Numbers", number_vars}},
            .attrs = {{"table", number_},
                      {"width", table_.spec.width},
                      {"height", table_.spec.height},
                      {"name", table_.spec.param},
                      {"paddings", paddings}}};
    conform(pull);
    return pull;
  }

  // As soon as the gradient and, where this process updates the rows, the rate are there.
  void place_push() {
    const std::string rate = rates_ ? table_.spec.learning_rate : "";
    size_t after = 0;
    bool made = false;
    for (size_t i = 0; i < ops_.size(); ++i) {
      const bool grad = ops_[i].out.uses(table_.spec.grad);
      made |= grad;
      if (grad || (!rate.empty() && ops_[i].out.uses(rate))) after = i + 1;
    }
    require(made, bad_plan, "the gradient '", table_.spec.grad, "' of the table '",
            table_.spec.param, "' is pushed, but no op computes it");
    Op push{.type = "push_rows",
            .in = {{"X", {table_.spec.grad}}, {"Distinct", {distinct_}}, {"Count", {count_}}},
            .attrs = {{"table", number_}, {"width", table_.spec.width}}};
    if (!rate.empty()) push.in.set("LearningRate", {rate});
    conform(push);
    ops_.insert(ops_.begin() + static_cast<ptrdiff_t>(after), std::move(push));
  }

  std::vector<Op>& ops_;
  const PlanTable& table_;
  int32_t number_;
  bool rates_;
  std::vector<Var>& vars_;
  std::string rows_, distinct_, count_;
  std::vector<size_t> readers_;
};

}  // namespace

Names PlanTables::wanted() const {
  Names out;
  for (const PlanTable& t : tables) {
    if (!t.pushes) continue;
    out.push_back(t.spec.grad);
    if (rates && !t.spec.learning_rate.empty()) out.push_back(t.spec.learning_rate);
  }
  return out;
}

PlanTables tables_of(const Program& program, const Block& block, const Scope& scope,
                     const Names& fetches, const Remote* remote) {
  PlanTables out;
  if (!program.tables.empty())
    take_given(program, block, out);
  else
    take_found(program, block, scope, out);
  out.rates = out.local || (remote != nullptr && remote->takes_rates());
  take_started(block, out);
  for (const PlanTable& t : out.tables)
    for (const std::string& f : fetches)
      require(f != t.spec.param && f != t.spec.grad, bad_plan, "cannot fetch '", f,
              "': the table '", t.spec.param,
              "' has rows by id and no array of all of them; fetch the output of its lookup");
  return out;
}

std::vector<Var> place_table_ops(std::vector<Op>& ops, const PlanTables& tables) {
  std::vector<Var> vars;
  for (size_t i = 0; i < tables.tables.size(); ++i)
    Lowering(ops, tables.tables[i], static_cast<int32_t>(i), tables.rates, vars).run();
  return vars;
}

}  // namespace paddle
