#include "exec/table_store.h"

#include <algorithm>
#include <random>

#include "base/error.h"

namespace paddle {
namespace {

// Counted from the first update, so that a training that goes on from a checkpoint does the same.
constexpr uint64_t updates_between_expiries = 1000;

RowInit row_init(const TableSpec& s) {
  if (s.init == "constant") return RowInit::constant(s.init_a);
  if (s.init == "uniform") return RowInit::uniform(s.init_a, s.init_b);
  if (s.init == "normal") return RowInit::normal(s.init_a, s.init_b);
  require(s.init == "truncated_normal", Error::Kind::config, "the table '", s.param,
          "' has the first values '", s.init, "', which do not exist");
  return RowInit::truncated_normal(s.init_a, s.init_b);
}

// Whether both describe the same rows and the same updates of them.
bool same_table(TableSpec a, TableSpec b) {
  for (TableSpec* s : {&a, &b}) {  // the names of variables do not matter
    s->grad.clear();
    s->learning_rate.clear();
    std::sort(s->settings.begin(), s->settings.end());
  }
  return a == b;
}

}  // namespace

TableOptions table_options(const TableSpec& s) {
  return {.name = s.param,
          .seed = s.seed,
          .width = s.width,
          .bf16 = s.bf16,
          .init = row_init(s),
          .rule = s.rule,
          .settings = s.settings,
          .l2 = s.l2,
          .admission = {.min_count = s.admit_count, .probability = s.admit_probability},
          .expiry = {.unseen_steps = s.expire_unseen_steps,
                     .min_score = s.expire_min_score,
                     .half_life = s.expire_half_life,
                     .floor = s.expire_floor},
          .memory_limit = s.memory_limit,
          .evict = s.evict};
}

void TableStore::start(const Var& var, FirstRows first) {
  if (first.init != "constant" && first.seed == 0) first.seed = std::random_device{}();
  firsts_[var.name] = first;
  if (var.name == var.table && tables_.erase(var.name) > 0) ++generation_;
}

TableStore::Kept TableStore::make(TableSpec spec) const {
  auto table = std::make_unique<Table>(table_options(spec));
  return {.spec = std::move(spec), .table = std::move(table)};
}

TableSpec TableStore::completed(const PlanTable& wanted) const {
  TableSpec spec = wanted.spec;
  if (const auto first = firsts_.find(spec.param); first != firsts_.end()) {
    spec.init = first->second.init;
    spec.init_a = first->second.a;
    spec.init_b = first->second.b;
    spec.seed = first->second.seed;
  }
  for (const auto& [key, var] : wanted.state_firsts)
    if (const auto it = firsts_.find(var); it != firsts_.end() && it->second.a != 0)
      spec.settings.emplace_back(key, it->second.a);
  return spec;
}

TableStore::Kept& TableStore::use(const PlanTable& wanted) {
  require(firsts_.count(wanted.spec.param) > 0, Error::Kind::config, "the table '",
          wanted.spec.param, "' has no value: run the startup program or load a model first");
  TableSpec spec = completed(wanted);
  const auto [it, fresh] = tables_.try_emplace(spec.param);
  Kept& k = it->second;
  if (fresh) {
    k = make(std::move(spec));
    return k;
  }
  require(k.spec.width == spec.width, Error::Kind::config, "the table '", spec.param,
          "' has rows of ", k.spec.width, " values, and the program looks up rows of ", spec.width);
  if (!wanted.pushes || same_table(k.spec, spec)) return k;
  // The rule is known now, or has other settings: rows that are there move.
  Kept next = make(std::move(spec));
  next.version = k.version;
  if (k.table->rows() > 0) {
    std::vector<std::byte> part;
    k.table->begin_dump();
    try {
      while (k.table->dump_part(part)) next.table->load_part(part);
    } catch (...) {
      k.table->end_dump();
      throw;
    }
    k.table->end_dump();
  }
  k = std::move(next);
  ++generation_;
  return k;
}

const TableStore::Kept* TableStore::find(const std::string& param) const {
  const auto it = tables_.find(param);
  return it == tables_.end() ? nullptr : &it->second;
}

TableStore::Kept* TableStore::find(const std::string& param) {
  const auto it = tables_.find(param);
  return it == tables_.end() ? nullptr : &it->second;
}

Names TableStore::names() const {
  Names out;
  for (const auto& [name, kept] : tables_) out.push_back(name);
  return out;
}

LocalTables::LocalTables(TableStore& store, std::vector<PlanTable> tables)
    : store_(store),
      tables_(std::move(tables)),
      kept_(tables_.size(), nullptr),
      rates_(tables_.size(), 0),
      generation_(store.generation()) {}

TableStore::Kept& LocalTables::kept(int32_t table) {
  const auto i = static_cast<size_t>(table);
  require(table >= 0 && i < tables_.size(), Error::Kind::config, "this program has no table ",
          table);
  if (generation_ != store_.generation()) {
    std::fill(kept_.begin(), kept_.end(), nullptr);
    generation_ = store_.generation();
  }
  if (kept_[i] == nullptr) {
    TableStore::Kept& k = store_.use(tables_[i]);
    if (generation_ != store_.generation()) return kept(table);
    kept_[i] = &k;
  }
  return *kept_[i];
}

void LocalTables::pull_rows(int32_t table, std::span<const uint64_t> ids, float* rows, uint64_t) {
  kept(table).table->pull(ids, rows);
}

void LocalTables::set_rate(int32_t table, float rate) {
  if (table >= 0 && static_cast<size_t>(table) < rates_.size())
    rates_[static_cast<size_t>(table)] = rate;
}

void LocalTables::push_rows(int32_t table, std::span<const uint64_t> ids, const float* grads,
                            uint64_t) {
  TableStore::Kept& k = kept(table);
  k.table->push(ids, grads, rates_[static_cast<size_t>(table)], k.version);
  ++k.version;
  if ((k.spec.expire_unseen_steps > 0 || k.spec.expire_min_score > 0) &&
      k.version % updates_between_expiries == 0) {
    Table::Expired expired;
    uint64_t from = 0;
    while (k.table->expire_part(from, k.version, false, expired)) {
    }
  }
}

void LocalTables::push(int32_t, const View&, uint64_t) {
  throw Error(Error::Kind::config,
              "this program is the trainer's half of a cut, but no pservers are connected");
}

void LocalTables::pull(int32_t, const View&, uint64_t) {
  throw Error(Error::Kind::config,
              "this program is the trainer's half of a cut, but no pservers are connected");
}

}  // namespace paddle
