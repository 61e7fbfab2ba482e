#include "graph/transpile.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/error.h"
#include "graph/find_tables.h"
#include "graph/halves.h"
#include "graph/slicing.h"

namespace paddle {
namespace {

constexpr auto bad_options = Error::Kind::config;

void check_options(const TranspileOptions& o) {
  require(!o.endpoints.empty(), bad_options,
          "there is no pserver to cut the program for: give --pservers=HOST:PORT[,…]");
  std::set<std::string> seen;
  for (const std::string& e : all_endpoints(o))
    require(seen.insert(e).second, bad_options, "the pserver ", e,
            " is listed twice: every shard has a port of its own");
  require(o.trainers >= 1, bad_options, "a job needs at least one trainer: give --trainers=N");
  require(o.trainer_id < o.trainers, bad_options, "the trainer id ", o.trainer_id,
          " does not fit a job of ", o.trainers, o.trainers == 1 ? " trainer" : " trainers",
          ": ids go from 0 to ", o.trainers - 1);
  require(o.min_block_size >= 1, bad_options, "min_block_size must be at least 1, found ",
          o.min_block_size);
}

std::vector<SliceSpec> make_slices(const Block& main, const CutParts& parts,
                                   const TranspileOptions& o, std::vector<std::string>& notes) {
  const auto shards = static_cast<int64_t>(o.endpoints.size());
  std::vector<SliceSpec> slices;
  for (size_t i = 0; i < parts.updates.size(); ++i) {
    const ParamUpdate& u = parts.updates[i];
    const Var& param = main.var(u.names.param);
    std::vector<int64_t> rows =
        slice_rows(param.shape, o.slice_var_up ? shards : 1, o.min_block_size);
    if (rows.size() > 1 && !u.whole_because.empty()) {
      notes.push_back(
          text("the parameter '", u.names.param, "' stays in one piece: ", u.whole_because));
      rows = slice_rows(param.shape, 1, o.min_block_size);
    }
    int64_t first = 0;
    for (size_t k = 0; k < rows.size(); ++k) {
      SliceSpec s{.param = u.names.param,
                  .grad = u.names.grad,
                  .name = rows.size() == 1 ? u.names.param : text(u.names.param, ".block", k),
                  .param_index = static_cast<int32_t>(i),
                  .index = static_cast<int32_t>(k),
                  .dtype = param.dtype,
                  .first_row = first,
                  .shape = param.shape};
      if (rows.size() > 1) s.shape[0] = rows[k];
      first += rows[k];
      slices.push_back(std::move(s));
    }
  }
  return slices;
}

// A shard adds differences of rows in geo, and cannot count the updates of an id.
void check_geo(const std::vector<TableSpec>& tables) {
  for (const TableSpec& t : tables)
    require(t.admit_count <= 1 && t.admit_probability >= 1, bad_options, "the table '", t.param,
            "' has ", t.admit_count > 1 ? "min_count" : "probability",
            ", and geo cannot keep ids waiting for a row, as trainers update rows by themselves: "
            "leave it out, or train in another mode");
}

// Sparse shards, or where there are none all dense ones.
std::vector<size_t> table_shards(const Program& main, const TranspileOptions& o) {
  if (main.tables.empty()) return {};
  const bool own = !o.sparse_endpoints.empty();
  std::vector<size_t> out(own ? o.sparse_endpoints.size() : o.endpoints.size());
  std::iota(out.begin(), out.end(), own ? o.endpoints.size() : 0);
  return out;
}

// Of a startup program: tables make the states of their rows themselves.
void drop_states(Block& startup, const std::set<std::string>& states) {
  startup.remove_ops([&](const Op& op) {
    const Names outs = op.out.all();
    return !outs.empty() && std::all_of(outs.begin(), outs.end(),
                                        [&](const std::string& n) { return states.count(n) > 0; });
  });
  startup.remove_vars(states);
}

// Persistable variables that no update changes: one copy in each shard.
Names shared_variables(const Block& main, const CutParts& parts) {
  std::set<std::string> found;
  const auto add = [&](const Op& op) {
    for (const Slots* slots : {&op.in, &op.out})
      for (const std::string& n : slots->all())
        if (const Var* v = main.find(n); v && v->persistable && !parts.updated.count(n))
          found.insert(n);
  };
  for (const Op* op : parts.lr_ops) add(*op);
  for (const ParamUpdate& u : parts.updates)
    for (const Op* op : u.ops) add(*op);
  for (const TableSpec& t : main.program().tables)
    if (const Var* v = main.find(t.learning_rate); v && v->persistable) found.insert(v->name);
  return {found.begin(), found.end()};
}

}  // namespace

Names all_endpoints(const TranspileOptions& options) {
  Names out = options.endpoints;
  out.insert(out.end(), options.sparse_endpoints.begin(), options.sparse_endpoints.end());
  return out;
}

Cut transpile(const Program& main, const Program& startup, const TranspileOptions& options) {
  check_options(options);
  Cut cut;
  Program dense(main);
  Program first(startup);
  if (options.tables) {
    TakenTables taken = take_tables(dense, startup);
    cut.notes = taken.notes;
    cut.table_inputs = std::move(taken.inputs);
    drop_states(first.global(), taken.states);
  } else if (const Names tables = table_names(main); !tables.empty()) {
    throw Error(bad_options, "the sparse table '", tables[0],
                "' (is_distributed) cannot be cut into dense slices: set is_sparse in place of "
                "is_distributed");
  }
  if (options.geo) {
    check_geo(dense.tables);
    cut.trainer = dense;
    cut.trainer_startup = first;
  }
  for (const std::string& table : make_gradients_dense(dense))
    cut.notes.push_back(text("the gradient of '", table,
                             "' is sent whole, as with is_sparse: false: shards hold dense "
                             "slices"));
  const CutParts parts = find_parts(dense, startup);
  for (const ParamUpdate& u : parts.updates) cut.params.push_back(u.names);
  cut.slices = make_slices(dense.global(), parts, options, cut.notes);
  place_slices(cut.slices, options.endpoints.size(), options.split);
  if (!options.geo) {
    cut.trainer = trainer_half(dense, parts, cut.slices, options);
    cut.trainer_startup = trainer_startup(first, parts, cut.slices, options);
  }
  for (size_t shard = 0; shard < all_endpoints(options).size(); ++shard) {
    PserverHalf half = pserver_half(dense, startup, parts, cut.slices, shard, options);
    cut.pservers.push_back(std::move(half.main));
    cut.startups.push_back(std::move(half.startup));
  }
  cut.table_shards = table_shards(dense, options);
  cut.shared = shared_variables(dense.global(), parts);
  return cut;
}

}  // namespace paddle
