// The cut, and a trainer's part in the job that it makes.
#include "graph/transpile.h"

#include <unistd.h>

#include "base/log.h"
#include "base/machine_memory.h"
#include "base/random.h"
#include "base/suggest.h"
#include "base/version.h"
#include "job.h"
#include "options/cluster.h"
#include "options/tables.h"
#include "trainer/table_rows.h"

namespace paddle {
namespace {

wire::Mode mode_of(const std::string& word) {
  const Names known = {"sync", "async", "half_async", "geo"};
  for (size_t i = 0; i < known.size(); ++i)
    if (known[i] == word) return static_cast<wire::Mode>(i);
  throw Error(Error::Kind::config, "there is no mode '", word, "'", did_you_mean(word, known),
              ": choose one of ", listed(known));
}

std::shared_ptr<PyCut> cut_program(const PyProgram& main, const PyProgram& startup,
                                   const std::optional<uint32_t>& trainer_id, uint32_t trainers,
                                   const Names& endpoints, const std::string& mode,
                                   uint64_t geo_steps, bool slice_var_up, int64_t min_block_size,
                                   const std::string& split) {
  auto out = std::make_shared<PyCut>();
  out->main = main;
  out->startup = startup;
  out->mode = mode_of(mode);
  out->geo_steps = out->mode == wire::Mode::geo ? geo_steps : 0;
  out->id_given = trainer_id.has_value() || trainers == 1;
  out->options = {.trainer_id = trainer_id.value_or(0),
                  .trainers = trainers,
                  .endpoints = endpoints,
                  .sync = out->mode == wire::Mode::sync,
                  .geo = out->mode == wire::Mode::geo,
                  .slice_var_up = slice_var_up,
                  .min_block_size = min_block_size,
                  .split = split_method_of(split),
                  .tables = true};
  out->cut = transpile(main, startup, out->options);
  out->cut.trainer.random_seed = trainer_seed(main.random_seed, trainer_id.value_or(0));
  return out;
}

// The programs of the script become the trainer's.
void apply(const PyCut& c, const ProgramPtr& main, const ProgramPtr& startup) {
  static_cast<Program&>(*main) = c.cut.trainer;
  static_cast<Program&>(*startup) = c.cut.trainer_startup;
}

py::list slices_of(const PyCut& c) {
  py::list out;
  for (const SliceSpec& s : c.cut.slices) {
    py::dict d;
    d["name"] = s.name;
    d["param"] = s.param;
    d["first_row"] = s.first_row;
    d["shape"] = tuple_of(s.shape);
    d["endpoint"] = c.options.endpoints[s.shard];
    d["states"] = s.states;
    out.append(d);
  }
  return out;
}

PsOptions ps_options(const PyCut& c, const std::map<std::string, std::string>& flags) {
  const Options o = script_options(trainer_options(), flags);
  PsOptions out;
  for (const std::string& e : c.options.endpoints)
    out.shards.push_back(wire::parse_endpoint(e, "the pserver"));
  out.credentials = wire::client_credentials(credential_files(o));
  out.hello = wire::make_hello(wire::Role::trainer);
  out.hello.job = o.text("job_name");
  out.hello.new_job = o.flag("new_job");
  out.hello.program = network_digest(c.main, c.startup);
  out.hello.mode = c.mode;
  out.hello.trainer = c.options.trainer_id;
  out.hello.trainers = c.options.trainers;
  out.hello.shards = static_cast<uint32_t>(out.shards.size());
  out.hello.takes_id = !c.id_given;
  out.hello.outline = network_outline(c.main, c.startup);
  out.peer_timeout = static_cast<double>(o.integer("peer_timeout"));
  out.spin_microseconds = o.integer("spin_microseconds");
  out.shared_memory = o.flag("shared_memory");
  out.queue_size = static_cast<uint64_t>(o.integer("async_queue_size"));
  out.merge_mean = o.text("async_merge") == "mean";
  out.merge_memory = parse_memory(o.text("async_memory"), machine_memory()).value();
  out.geo_steps = c.geo_steps;
  out.rows_ahead = o.flag("rows_ahead");
  out.row_cache = row_cache_options(o);
  out.geo_memory = parse_memory(o.text("geo_memory"), machine_memory()).value();
  return out;
}

}  // namespace

size_t PyCut::shard(const std::string& endpoint) const {
  for (size_t i = 0; i < options.endpoints.size(); ++i)
    if (options.endpoints[i] == endpoint) return i;
  throw Error(Error::Kind::config, "there is no pserver '", endpoint, "' in this job",
              did_you_mean(endpoint, options.endpoints), ": it has ", listed(options.endpoints));
}

PyJob::PyJob(std::shared_ptr<PyCut> cut, std::map<std::string, std::string> flags)
    : cut_(std::move(cut)), flags_(std::move(flags)) {}

void PyJob::begin(const ScopePtr& scope) {
  require(!closed_, Error::Kind::config,
          "this trainer has left the job (close()): transpile anew for another job");
  require(!client_ || scope == scope_, Error::Kind::config,
          "this trainer began in another scope: all steps of one job run in one scope");
  if (client_) return;
  const Options options = script_options(trainer_options(), flags_);
  begin_script_log(options, "paddle_trainer");
  write_script_record(options, "train", network_digest(cut_->main, cut_->startup));
  if (options.given("http_port") || options.given("event_file") || options.given("event_dir"))
    http_ = begin_telling(options, "");
  for (const std::string& note : cut_->cut.notes) log_info(note);
  if (const auto* files = scope->scope.find_part<TableFiles>()) take_first_rows(cut_->cut, *files);
  client_ = std::make_unique<StepClient>(cut_->cut, scope->scope, ps_options(*cut_, flags_),
                                         options.real("parameter_period"));
  scope_ = scope;
  scope->job = weak_from_this();
}

void PyJob::save_table(const std::string& param, const TableWriter::Sink& sink) {
  require(!closed_, Error::Kind::config, "the rows of the table '", param,
          "' are on the pservers, and this trainer has left the job: save before close() or "
          "stop_worker()");
  client_->save_table(param, sink);
}

void PyJob::collect() {
  if (!client_ || closed_) return;  // nothing was trained, or all was collected when it left
  const py::gil_scoped_release others;
  const std::lock_guard<std::mutex> alone(scope_->mutex);
  client_->collect();
}

void PyJob::close(const ScopePtr& scope) {
  if (closed_) return;
  if (!client_ && scope) begin(scope);
  if (client_) {
    const py::gil_scoped_release others;
    const std::lock_guard<std::mutex> alone(scope_->mutex);
    client_->close();
    last_id_ = client_->trainer();
    last_step_ = client_->step();
    client_.reset();  // its heartbeat ends: pservers that stay are free for another job
  }
  http_.reset();
  closed_ = true;
}

std::optional<uint32_t> PyJob::trainer() const {
  if (joined()) return client_->trainer();
  if (last_id_) return last_id_;
  return cut_->id_given ? std::optional(cut_->options.trainer_id) : std::nullopt;
}

void bind_transpile(py::module_& m) {
  py::class_<PyCut, std::shared_ptr<PyCut>>(m, "Cut", "A program divided for pservers.")
      .def("apply", &apply, py::arg("main"), py::arg("startup"))
      .def_property_readonly("trainer_program",
                             [](const PyCut& c) { return program_ptr(c.cut.trainer); })
      .def_property_readonly("trainer_startup",
                             [](const PyCut& c) { return program_ptr(c.cut.trainer_startup); })
      .def_property_readonly("main", [](const PyCut& c) { return program_ptr(c.main); })
      .def_property_readonly("startup", [](const PyCut& c) { return program_ptr(c.startup); })
      .def("pserver_program",
           [](const PyCut& c, const std::string& endpoint) {
             return program_ptr(c.cut.pservers[c.shard(endpoint)]);
           })
      .def("pserver_startup",
           [](const PyCut& c, const std::string& endpoint) {
             return program_ptr(c.cut.startups[c.shard(endpoint)]);
           })
      .def_property_readonly("slices", &slices_of)
      .def_property_readonly("shared", [](const PyCut& c) { return c.cut.shared; })
      .def_property_readonly("notes", [](const PyCut& c) { return c.cut.notes; })
      .def("placement_table",
           [](const PyCut& c) { return placement_table(c.cut, c.options.endpoints); })
      .def("digest", [](const PyCut& c) { return network_digest(c.main, c.startup); });
  m.def("transpile", &cut_program, py::arg("main"), py::arg("startup"), py::kw_only(),
        py::arg("trainer_id"), py::arg("trainers"), py::arg("endpoints"), py::arg("mode") = "sync",
        py::arg("geo_steps") = 100, py::arg("slice_var_up") = true,
        py::arg("min_block_size") = 8192, py::arg("split") = "round_robin",
        "Cuts a program that trains. The programs stay as they are until apply().");
  m.def("hash_name", [](const std::string& name) { return hash_text(name); });

  py::class_<PyJob, std::shared_ptr<PyJob>>(m, "Job", "A trainer's part in a job with pservers.")
      .def(py::init<std::shared_ptr<PyCut>, std::map<std::string, std::string>>(), py::arg("cut"),
           py::arg("flags") = std::map<std::string, std::string>{})
      .def("collect", &PyJob::collect,
           "Parameters and optimizer state of the pservers into the scope of the job.")
      .def("close", &PyJob::close, py::arg("scope") = ScopePtr(),
           "Leaves the job cleanly. With a scope, a trainer that made no step yet joins first, so "
           "that "
           "the others do not wait for it.")
      .def_property_readonly("cut", &PyJob::cut)
      .def_property_readonly("trainer_id", &PyJob::trainer)
      .def_property_readonly("step", &PyJob::step)
      .def_property_readonly("joined", &PyJob::joined)
      .def_property_readonly("closed", &PyJob::closed);
}

}  // namespace paddle
