// Whether the parts of a configuration fit each other.
#include <algorithm>
#include <unordered_set>

#include "pserver/store.h"

namespace paddle {
namespace {

constexpr uint32_t max_slice_id = 1u << 20;

using NameSet = std::unordered_set<std::string_view>;

void check_variable(const KeptVariable& v, const Var* declared) {
  require(size_of(v.dtype) > 0, Error::Kind::config, "the variable '", v.name,
          "' has an unknown element type (", static_cast<int>(v.dtype), ")");
  require(declared != nullptr, Error::Kind::config, "the variable '", v.name,
          "' is not in the program that came with it");
  require(declared->dtype == v.dtype && declared->shape == v.shape, Error::Kind::config,
          "the variable '", v.name, "' came as ", name_of(v.dtype), " ", v.shape,
          "; the program says ", name_of(declared->dtype), " ", declared->shape);
}

void check_slice(const SliceInfo& s, const Program& program, const NameSet& variables) {
  require(variables.count(s.name) == 1, Error::Kind::config, "the slice '", s.name,
          "' is not among the variables that came with it");
  require(s.id < max_slice_id, Error::Kind::config, "the slice '", s.name, "' has the id ", s.id,
          "; at most ", max_slice_id, " slices are possible");
  require(s.block > 0 && static_cast<size_t>(s.block) < program.num_blocks(), Error::Kind::config,
          "the slice '", s.name, "' shall be updated by block ", s.block, ", and the program has ",
          program.num_blocks(), " blocks");
  require(program.block(s.block).find(s.grad) != nullptr, Error::Kind::config, "the gradient '",
          s.grad, "' of the slice '", s.name, "' is not in the program");
}

void check_table(const TableInfo& t, const Program& program, const NameSet& variables) {
  require(t.id < max_slice_id && t.parts > 0 && t.part < t.parts && t.parts < max_slice_id,
          Error::Kind::config, "the table '", t.spec.param, "' has the impossible id ", t.id,
          " or part ", t.part, " of ", t.parts);
  const std::string& rate = t.spec.learning_rate;
  const Var* v = program.global().find(rate);
  require(rate.empty() || variables.count(rate) == 1, Error::Kind::config, "the learning rate '",
          rate, "' of the table '", t.spec.param, "' is read before anything writes it");
  require(rate.empty() || (v != nullptr && v->shape.numel() == 1), Error::Kind::config,
          "the learning rate '", rate, "' of the table '", t.spec.param, "' is not one number");
}

// Nothing is read that nothing has written. `own` is what the block itself adds to `shared`.
void check_reads(const Block& block, const NameSet& shared, NameSet& own) {
  for (const auto& op : block.ops()) {
    if ((op->role() & role::dist) != 0) continue;
    for (const auto& [slot, names] : op->in)
      for (const std::string& n : names)
        require(n == empty_name || shared.count(n) == 1 || own.count(n) == 1, Error::Kind::config,
                "the variable '", n, "' is read before anything writes it (", op_text(*op), ")");
    for (const auto& [slot, names] : op->out)
      for (const std::string& n : names) own.insert(n);
  }
}

}  // namespace

std::vector<int32_t> shared_blocks(const StoreConfig& config) {
  std::vector<bool> used(config.program.num_blocks(), false);
  for (const SliceInfo& s : config.slices) used[static_cast<size_t>(s.block)] = true;
  std::vector<int32_t> out;
  for (size_t i = 1; i < used.size(); ++i)
    if (!used[i]) out.push_back(static_cast<int32_t>(i));
  return out;
}

void check_config(const StoreConfig& config) {
  const Block& global = config.program.global();
  NameSet variables;
  for (const KeptVariable& v : config.variables) {
    check_variable(v, global.find(v.name));
    require(variables.insert(v.name).second, Error::Kind::config, "the variable '", v.name,
            "' came twice");
  }
  NameSet slices;
  std::unordered_set<uint32_t> ids;
  for (const SliceInfo& s : config.slices) {
    check_slice(s, config.program, variables);
    require(slices.insert(s.name).second && ids.insert(s.id).second, Error::Kind::config,
            "the slice '", s.name, "' (id ", s.id, ") came twice");
  }
  NameSet own;
  for (const int32_t block : shared_blocks(config)) {
    check_reads(config.program.block(block), variables, own);
    variables.insert(own.begin(), own.end());
  }
  // What the shared blocks make is known here.
  NameSet tables;
  for (const TableInfo& t : config.tables) {
    check_table(t, config.program, variables);
    require(tables.insert(t.spec.param).second && ids.insert(t.id).second, Error::Kind::config,
            "the table '", t.spec.param, "' (id ", t.id, ") came twice");
  }
  for (const SliceInfo& s : config.slices) {
    own.clear();
    own.insert(s.grad);
    check_reads(config.program.block(s.block), variables, own);
  }
}

}  // namespace paddle
