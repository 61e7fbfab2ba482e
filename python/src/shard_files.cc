// What a script's pserver loads before it serves: its part of a model that one process would save.
#include <algorithm>

#include "graph/shard_values.h"
#include "io/save.h"
#include "job.h"

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

}  // namespace

void bind_shard_files(py::module_& m) {
  m.def("load_shard", &load_shard, py::arg("cut"), py::arg("endpoint"), py::arg("directory"),
        py::arg("only") = std::optional<Names>(), py::arg("parameters_only") = false,
        py::arg("filename") = "",
        "What a pserver keeps of the values that were saved in the form of one process.");
}

}  // namespace paddle
