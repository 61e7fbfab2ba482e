// What a script's pserver loads before it serves: its part of a model that one process would save.
#include <algorithm>

#include "base/file.h"
#include "exec/table_store.h"
#include "graph/shard_values.h"
#include "io/save.h"
#include "job.h"
#include "optim/rule.h"
#include "trainer/table_rows.h"

namespace paddle {
namespace {

// The whole variables to be read. A combined file is read as a whole; otherwise only what this
// shard keeps something of.
Names names_to_read(const PyCut& c, const Names& wanted, const std::string& filename) {
  if (filename.empty()) return wanted;
  Names all;
  for (const Var* v : persistables_of(c.main)) all.push_back(v->name);
  return all;
}

// `only` (where given) and `parameters_only` leave out variables. Rows of slices are copied out of
// the whole values, so that these can be freed.
std::map<std::string, PyTensor> load_shard(const PyCut& c, const std::string& endpoint,
                                           const std::string& directory,
                                           const std::optional<Names>& only, bool parameters_only,
                                           const std::string& filename) {
  const py::gil_scoped_release others;
  const size_t shard = c.shard(endpoint);
  const Block& block = c.main.global();
  Names wanted = shard_sources(c.cut, shard);
  std::erase_if(wanted, [&](const std::string& name) {
    const Var* v = block.find(name);
    return v == nullptr || (only && std::find(only->begin(), only->end(), name) == only->end()) ||
           (!only && parameters_only && !v->param);
  });
  const Names names = names_to_read(c, wanted, filename);
  VarList vars;
  for (const std::string& name : names) vars.push_back(&block.var(name));
  Scope scope;
  load_vars(directory, vars, into(scope), filename);
  for (const std::string& name : names)
    if (std::find(wanted.begin(), wanted.end(), name) == wanted.end()) scope.erase(name);
  std::map<std::string, PyTensor> out;
  for (const ShardValue& v : shard_values(c.cut, shard, scope, MissingValue::skip))
    out.emplace(v.name, PyTensor(v.tensor.clone()));
  return out;
}

// The arrays of a table with is_sparse alone; states that were not saved begin anew.
void complete_arrays(const PyCut& c, size_t table, Scope& scope) {
  const TableSpec& spec = c.cut.trainer.tables[table];
  const RowUpdate update(spec.rule, spec.settings, spec.l2, spec.width);
  const optim::Rule* rule = optim::find_row_rule(spec.rule);
  const int64_t width = rule->state_per_row ? 1 : spec.width;
  for (int64_t k = 0; k < update.state_numbers() / width; ++k) {
    const std::string& name = c.cut.table_inputs[table].at(rule->states[static_cast<size_t>(k)].in);
    if (scope.find(name) != nullptr) continue;
    Tensor t(DType::f32, {spec.height, width});
    std::fill_n(t.data<float>(), t.numel(), update.first_state()[static_cast<size_t>(k * width)]);
    scope.var(name).tensor = t;
  }
  for (const auto& [slot, name] : c.cut.table_inputs[table])
    if (slot != "Param" && slot != "Grad" && scope.find(name) == nullptr)
      scope.var(name).tensor = Tensor::of<float>({1}, {1});
}

using Rows = std::map<std::string, std::vector<std::string>>;

// The rows that this shard keeps of the tables that were saved, as it takes them.
Rows load_shard_rows(const PyCut& c, const std::string& endpoint, const std::string& directory,
                     const std::optional<Names>& only, bool parameters_only) {
  const py::gil_scoped_release others;
  const size_t shard = c.shard(endpoint);
  const Block& block = c.main.global();
  Rows out;
  for (const TablePlace& place : table_places(c.cut)) {
    const TableSpec& spec = c.cut.trainer.tables[place.table];
    if (place.shard != shard) continue;
    if (only && std::find(only->begin(), only->end(), spec.param) == only->end()) continue;
    Scope scope;
    if (spec.first_values_sent) {
      VarList vars = {&block.var(spec.param)};
      for (const auto& [slot, name] : c.cut.table_inputs[place.table])
        if (!parameters_only && slot != "Param" && slot != "Grad" && slot != "LearningRate" &&
            is_file(directory + "/" + name))
          vars.push_back(&block.var(name));
      load_vars(directory, vars, into(scope), "");
      complete_arrays(c, place.table, scope);
    } else {
      scope.part<TableFiles>().tables[spec.param] = saved_table(directory, spec);
    }
    const auto source = FirstRowsSource::of(c.cut, place, scope, 0);
    std::vector<std::byte> chunk;
    for (bool more = true; more;) {
      more = source->next(chunk);
      out[spec.param].emplace_back(reinterpret_cast<const char*>(chunk.data()), chunk.size());
    }
  }
  return out;
}

// A list of chunks that Python passes on as bytes.
std::map<std::string, std::vector<py::bytes>> rows_as_bytes(const PyCut& c,
                                                            const std::string& endpoint,
                                                            const std::string& directory,
                                                            const std::optional<Names>& only,
                                                            bool parameters_only) {
  std::map<std::string, std::vector<py::bytes>> out;
  for (const auto& [name, chunks] : load_shard_rows(c, endpoint, directory, only, parameters_only))
    for (const std::string& chunk : chunks) out[name].emplace_back(chunk);
  return out;
}

}  // namespace

void bind_shard_files(py::module_& m) {
  m.def("load_shard", &load_shard, py::arg("cut"), py::arg("endpoint"), py::arg("directory"),
        py::arg("only") = std::optional<Names>(), py::arg("parameters_only") = false,
        py::arg("filename") = "",
        "What a pserver keeps of the values that were saved in the form of one process.");
  m.def("load_shard_rows", &rows_as_bytes, py::arg("cut"), py::arg("endpoint"),
        py::arg("directory"), py::arg("only") = std::optional<Names>(),
        py::arg("parameters_only") = false, "The same for the rows of its tables.");
}

}  // namespace paddle
