// Variables and models to and from disk.
#include <algorithm>

#include "base/log.h"
#include "bindings.h"
#include "exec/lower_tables.h"
#include "exec/table_store.h"
#include "io/inference_model.h"
#include "io/model_file.h"
#include "io/portable.h"
#include "io/save.h"
#include "io/v2_file.h"
#include "job.h"
#include "trainer/table_rows.h"

namespace paddle {
namespace {

VarList vars_named(const Program& program, const Names& names) {
  VarList out;
  for (const std::string& name : names) {
    const Var* found = nullptr;
    for (size_t i = 0; i < program.num_blocks() && found == nullptr; ++i)
      found = program.block(static_cast<int32_t>(i)).find_local(name);
    out.push_back(found ? found : &program.global().var(name));  // the last says "did you mean"
  }
  return out;
}

Names names_of(const VarList& vars) {
  Names out;
  for (const Var* v : vars) out.push_back(v->name);
  return out;
}

InferenceFiles files_of(const std::string& model, const std::string& params) {
  return {.model = model.empty() ? "__model__" : model, .params = params};
}

// In Fluid's layout too, a stream for each pserver, where the ids fit into it.
void add_fluid_streams(const std::string& directory, const std::string& name, uint64_t pservers) {
  const TableFile file(directory + "/" + table_file_name(name));
  const FluidStreams streams = divide(file, pservers);
  const std::string to = fluid_tables_directory(directory);
  if (!streams.too_large) return write_fluid_streams(file, streams, to);
  remove_fluid_streams(to, name, 0);
  log_warn(text("'", file.path(),
                "' is not saved in Fluid's layout as well: the rows there are "
                "numbered up to 2^63 - 2, and it has the id ",
                *streams.too_large));
}

// Tables of the scope, or of the pservers of the job that trains in it.
void save_kept_tables(PyScope& scope, const Names& names, const std::string& directory) {
  const std::shared_ptr<PyJob> job = scope.job.lock();
  const TableStore& store = scope.scope.part<TableStore>();
  Names local;
  std::map<std::string, uint64_t> streams;
  for (const std::string& name : names) {
    const bool kept = job && std::any_of(job->tables().begin(), job->tables().end(),
                                         [&](const TableSpec& t) { return t.param == name; });
    if (kept)
      write_table_file(directory, name,
                       [&](const TableWriter::Sink& sink) { job->save_table(name, sink); });
    else
      local.push_back(name);
    if (kept || store.find(name) != nullptr)
      streams[name] = kept ? job->cut()->options.endpoints.size() : 1;
  }
  save_tables(scope.scope.part<TableStore>(), local, directory);
  for (const auto& [name, count] : streams) add_fluid_streams(directory, name, count);
}

// Of tables inside this process. What Fluid's streams do not say is what the program says.
void load_local_tables(const Program& program, const Scope& scope, TableStore& store,
                       const Names& names, const std::string& directory) {
  std::vector<PlanTable> described =
      tables_of(program, program.global(), scope, {}, nullptr).tables;
  for (const std::string& name : names) {
    TableSpec spec{.param = name};
    for (const PlanTable& t : described)
      if (t.spec.param == name) spec = store.completed(t);
    TableReader in = saved_table(directory, spec).open();
    store.load(name, in);
  }
}

}  // namespace

// The GIL is released while files are read and written; the scope is locked meanwhile.
void bind_io(py::module_& m) {
  m.def("param_names", [](const PyProgram& p) { return names_of(params_of(p)); });
  m.def("persistable_names", [](const PyProgram& p) { return names_of(persistables_of(p)); });
  m.def(
      "save_vars",
      [](const std::string& directory, const PyProgram& program, const Names& names,
         const ScopePtr& scope, const std::string& filename) {
        const py::gil_scoped_release others;
        const std::lock_guard<std::mutex> alone(scope->mutex);
        save_vars(directory, vars_named(program, names), values_of(scope->scope), filename);
      },
      py::arg("directory"), py::arg("program"), py::arg("names"), py::arg("scope"),
      py::arg("filename") = "");
  m.def(
      "load_vars",
      [](const std::string& directory, const PyProgram& program, const Names& names,
         const ScopePtr& scope, const std::string& filename) {
        const py::gil_scoped_release others;
        const std::lock_guard<std::mutex> alone(scope->mutex);
        load_vars(directory, vars_named(program, names), into(scope->scope), filename);
      },
      py::arg("directory"), py::arg("program"), py::arg("names"), py::arg("scope"),
      py::arg("filename") = "");
  m.def("table_names", [](const PyProgram& p) { return table_names(p); });
  m.def(
      "save_tables",
      [](const std::string& directory, const Names& names, const ScopePtr& scope) {
        const py::gil_scoped_release others;
        const std::lock_guard<std::mutex> alone(scope->mutex);
        save_kept_tables(*scope, names, directory);
      },
      py::arg("directory"), py::arg("names"), py::arg("scope"));
  m.def(
      "load_tables",
      [](const std::string& directory, const PyProgram& program, const Names& names,
         const ScopePtr& scope) {
        const py::gil_scoped_release others;
        const std::lock_guard<std::mutex> alone(scope->mutex);
        if (program.tables.empty())
          return load_local_tables(program, scope->scope, scope->scope.part<TableStore>(), names,
                                   directory);
        // Pservers keep them, and get the rows when a job begins.
        for (const TableSpec& spec : program.tables)
          if (std::find(names.begin(), names.end(), spec.param) != names.end())
            scope->scope.part<TableFiles>().tables[spec.param] = saved_table(directory, spec);
      },
      py::arg("directory"), py::arg("program"), py::arg("names"), py::arg("scope"));
  m.def(
      "make_inference_model",
      [](const PyProgram& main, const Names& feeds, const Names& targets) {
        InferenceModel model = make_inference_model(main, feeds, targets);
        return std::pair(program_ptr(std::move(model.program)), model.fetches);
      },
      py::arg("main"), py::arg("feeds"), py::arg("targets"));
  m.def(
      "save_inference_model",
      [](const std::string& directory, const Names& feeds, const Names& targets,
         const PyProgram& main, const ScopePtr& scope, const std::string& model,
         const std::string& params) {
        const py::gil_scoped_release others;
        const std::lock_guard<std::mutex> alone(scope->mutex);
        Names fetches = save_inference_model(directory, feeds, targets, main,
                                             values_of(scope->scope), files_of(model, params));
        save_kept_tables(*scope, table_names(main.pruned(targets)), directory);
        return fetches;
      },
      py::arg("directory"), py::arg("feeds"), py::arg("targets"), py::arg("main"), py::arg("scope"),
      py::arg("model") = "", py::arg("params") = "");
  m.def(
      "load_inference_model",
      [](const std::string& directory, const ScopePtr& scope, const std::string& model,
         const std::string& params) {
        InferenceModel loaded = [&] {
          const py::gil_scoped_release others;
          const std::lock_guard<std::mutex> alone(scope->mutex);
          InferenceModel read =
              load_inference_model(directory, into(scope->scope), files_of(model, params));
          load_local_tables(read.program, scope->scope, scope->scope.part<TableStore>(),
                            table_names(read.program), directory);
          return read;
        }();
        return py::make_tuple(program_ptr(std::move(loaded.program)), loaded.feeds, loaded.fetches);
      },
      py::arg("directory"), py::arg("scope"), py::arg("model") = "", py::arg("params") = "");
  m.def(
      "save_program",
      [](const std::string& path, const PyProgram& program) {
        save_program(path, portable(program));
      },
      py::arg("path"), py::arg("program"));
  m.def(
      "load_program", [](const std::string& path) { return program_ptr(load_program(path)); },
      py::arg("path"));

  // The parameter files of PaddlePaddle v2, as bytes: they also stand inside its tar archives.
  m.def(
      "v2_parameter",
      [](const py::array& array) {
        const Tensor tensor = copied(array, dtype_of(array), "cannot save the parameter");
        FileParts parts;
        add_v2_parameter(parts, tensor);
        return py::bytes(parts.joined());
      },
      py::arg("array"));
  m.def(
      "read_v2_parameter",
      [](const std::string& bytes, const py::object& shape, const std::string& name) {
        BinaryReader in(bytes, name);
        return array_over(read_v2_parameter(in, shape_of(shape)));
      },
      py::arg("bytes"), py::arg("shape"), py::arg("name") = "parameter");
  m.def(
      "v2_description",
      [](const std::string& name, const py::object& shape) {
        return py::bytes(v2_description({name, shape_of(shape)}));
      },
      py::arg("name"), py::arg("shape"));
  m.def(
      "parse_v2_description",
      [](const std::string& bytes, const std::string& where) {
        const V2Description found = parse_v2_description(bytes, where);
        return py::make_tuple(found.name, tuple_of(found.shape));
      },
      py::arg("bytes"), py::arg("where"));
}

}  // namespace paddle
