// Running programs: arrays in, arrays out.
#include "exec/executor.h"

#include "base/suggest.h"
#include "bindings.h"
#include "figures.h"
#include "graph/find_tables.h"
#include "job.h"
#include "options/environment.h"
#include "options/option.h"

namespace paddle {
namespace {

// What is fed, and the Python objects that own its memory while a program runs.
struct Fed {
  Names names;
  std::vector<Tensor> tensors;
  std::vector<py::object> owners;
};

[[noreturn]] void no_such_feed(const Block& block, const std::string& name) {
  Names known;
  for (const auto& v : block.vars())
    if (!v->persistable) known.push_back(v->name);
  throw Error(Error::Kind::config, "cannot feed '", name,
              "': the program has no variable of that name", did_you_mean(name, known));
}

Tensor fed_tensor(py::handle value, const Var& var, std::vector<py::object>& owners) {
  const std::string what = "cannot feed '" + var.name + "'";
  if (py::isinstance<PyTensor>(value)) {
    Tensor tensor = value.cast<const PyTensor&>().get();
    require(!tensor.empty(), Error::Kind::config, what, ": the LoDTensor has no value, set() it");
    return tensor;
  }
  py::array array;
  if (py::isinstance<py::array>(value)) {
    array = py::reinterpret_borrow<py::array>(value);
  } else {  // a number or nested lists of numbers
    try {
      array = py::array::ensure(value);
    } catch (py::error_already_set&) {
    }
    PyErr_Clear();
    require(static_cast<bool>(array) && array.dtype().kind() != 'O' && array.dtype().kind() != 'U',
            Error::Kind::config, what, ": ", Py_TYPE(value.ptr())->tp_name,
            " is no array of numbers; sequences of different lengths are fed as "
            "fluid.create_lod_tensor(data, lengths, place)");
  }
  const DType given = dtype_of(array, what);
  if (given == var.dtype) {
    Tensor view = borrowed(array);
    if (!view.empty()) {
      owners.push_back(std::move(array));
      return view;
    }
  }
  return copied(array, var.dtype, what);
}

Fed feeds_of(const Block& block, const py::dict& feed) {
  Fed out;
  const size_t n = feed.size();
  out.names.reserve(n);
  out.tensors.reserve(n);
  out.owners.reserve(n);
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t at = 0;
  while (PyDict_Next(feed.ptr(), &at, &key, &value)) {
    Py_ssize_t length = 0;
    const char* name = PyUnicode_AsUTF8AndSize(key, &length);
    if (name == nullptr) {
      PyErr_Clear();
      throw Error(Error::Kind::config, "the keys of feed are names of variables, found ",
                  py::repr(key).cast<std::string>());
    }
    out.names.emplace_back(name, static_cast<size_t>(length));
    const Var* var = block.find(out.names.back());
    if (var == nullptr) no_such_feed(block, out.names.back());
    out.tensors.push_back(fed_tensor(value, *var, out.owners));
  }
  return out;
}

GpuKind gpu_kind_here() { return gpu_kind(variable(current_environment(), "PADDLE_CUDA_DEVICE")); }

// Gives a plan what it reads; `copies` hold what it may write, so that a step can be computed
// again.
void feed_plan(Plan& plan, const std::vector<Tensor>& values, std::vector<Tensor>& copies) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (plan.writes_feed(i)) copies[i] = values[i].clone();
    plan.feed(i, copies[i].empty() ? values[i] : copies[i]);
  }
}

// The job whose pservers keep rows that a program of the same scope looks up, or null: one that
// tests while another program trains.
std::shared_ptr<PyJob> job_with_rows(PyProgram& program, const ScopePtr& scope) {
  const std::shared_ptr<PyJob> job = scope->job.lock();
  std::vector<TableSpec> tables;
  if (job)
    for (const TableSpec& t : job->tables()) {
      const bool reads = looks_up(program, t.param);
      require(!reads || !job->closed() || t.first_values_sent, Error::Kind::config,
              "the rows of the table '", t.param,
              "' are on the pservers, and this trainer has left the job: run this program before "
              "close() or stop_worker(), or load the model that was saved");
      if (reads && !job->closed()) tables = job->tables();
    }
  if (program.tables != tables) {
    program.tables = tables;
    program.touch();
  }
  return tables.empty() ? nullptr : job;
}

}  // namespace

PyExecutor::PyExecutor(int threads, bool check_nan_inf, bool profile, std::shared_ptr<Gpu> gpu)
    : has_gpu_(gpu != nullptr) {
  ExecutorOptions options;
  options.threads = threads;
  options.plan.check_nan_inf = check_nan_inf;
  options.plan.profile = profile;
  options.plan.gpu = std::move(gpu);
  executor_ = std::make_unique<Executor>(options);
}

py::list PyExecutor::run(const ProgramPtr& program, const ScopePtr& scope, const py::dict& feed,
                         const py::list& fetch, bool return_numpy, int64_t step,
                         const std::shared_ptr<PyJob>& job) {
  const Fed fed = feeds_of(program->global(), feed);
  Names fetches;
  fetches.reserve(fetch.size());
  for (const py::handle name : fetch) fetches.push_back(name.cast<std::string>());

  std::vector<Tensor> fetched;
  fetched.reserve(fetches.size());
  {
    const py::gil_scoped_release others;
    const std::lock_guard<std::mutex> one(mutex_);
    const std::lock_guard<std::mutex> alone(scope->mutex);
    const std::shared_ptr<PyJob> rows = job ? nullptr : job_with_rows(*program, scope);
    if (job || rows) join(scope, job ? job : rows);
    Plan& plan = executor_->plan(*program, scope->scope, fed.names, fetches);
    std::vector<Tensor> copies(fed.tensors.size());
    if (job) {
      job->run(
          plan, *program, [&] { feed_plan(plan, fed.tensors, copies); }, samples_in(fed.tensors),
          [&] { return figures_of(plan, *program, fetches); });
    } else {
      const auto feeds = [&] { feed_plan(plan, fed.tensors, copies); };
      const uint64_t at = step < 0 ? program->next_step++ : static_cast<uint64_t>(step);
      if (rows) {
        rows->look_up(plan, at, feeds);
      } else {
        feeds();
        plan.run(at);
      }
    }
    for (size_t i = 0; i < fetches.size(); ++i) fetched.push_back(plan.fetch(i));
  }
  py::list out(fetched.size());
  for (size_t i = 0; i < fetched.size(); ++i) {
    require(!return_numpy || fetched[i].lod().empty(), Error::Kind::config,
            "the fetched variable '", fetches[i],
            "' holds sequences, whose lengths an array cannot carry: call run() with "
            "return_numpy=False and take the "
            "LoDTensor");
    out[i] = return_numpy ? py::object(array_over(fetched[i])) : py::cast(PyTensor(fetched[i]));
  }
  return out;
}

int64_t PyExecutor::run_pass(const ProgramPtr& program, const ScopePtr& scope,
                             std::vector<NextBatch> sources, const PassOptions& options,
                             const std::shared_ptr<PyJob>& job) {
  const std::lock_guard<std::mutex> one(mutex_);
  const std::lock_guard<std::mutex> alone(scope->mutex);
  if (job) join(scope, job);
  uint64_t steps = 0;  // of this pass, as threads that train side by side count them
  const auto step = [&](const Batch& batch, const Batch* following) -> Plan& {
    Plan& plan = executor_->plan(*program, scope->scope, options.feeds, options.fetches);
    std::vector<Tensor> copies(batch.fields.size());
    const auto feed = [&] { feed_plan(plan, batch.fields, copies); };
    if (job) {
      const auto feed_and_announce = [&] {
        feed();
        if (following != nullptr) plan.announce(following->fields, job->step() + 1);
      };
      job->run(plan, *program, feed_and_announce, samples_in(batch.fields),
               [&] { return figures_of(plan, *program, options.fetches); });
    } else {
      feed();
      plan.run(steps++);
    }
    return plan;
  };
  return ordered_pass(std::move(sources), step, options);
}

// Plans of a trainer half talk to the job that they belong to.
void PyExecutor::join(const ScopePtr& scope, const std::shared_ptr<PyJob>& job) {
  job->begin(scope);
  if (job_ == job) return;
  executor_->set_remote(&job->remote());
  job_ = job;
}

std::vector<OpCost> PyExecutor::profile() {
  const auto lock = locked(mutex_);
  return executor_->profile();
}

void bind_executor(py::module_& m) {
  py::class_<Gpu, std::shared_ptr<Gpu>>(m, "Gpu", "A GPU that executors compute on.");
  m.def(
      "open_gpu",
      [](int index) {
        const Environment environment = current_environment();
        const GpuOptions options = {
            .tf32 = parse_flag(variable(environment, "PADDLE_INIT_GPU_TF32")).value,
            .emulated = variable(environment, "PADDLE_EMULATED_GPU")};
        return open_gpu(gpu_kind_here(), index, "fluid.CPUPlace() or use_gpu=False", options);
      },
      py::arg("index"), "Throws ConfigError where there is no such GPU.");
  m.def(
      "gpu_count",
      [] {
        std::string why;
        const int count = count_gpus(gpu_kind_here(), why);
        return py::make_tuple(count, why);
      },
      "How many GPUs there are, and why there are none.");
  py::class_<PyExecutor, std::shared_ptr<PyExecutor>>(m, "Executor")
      .def(py::init<int, bool, bool, std::shared_ptr<Gpu>>(), py::arg("threads") = 1,
           py::arg("check_nan_inf") = false, py::arg("profile") = false,
           py::arg("gpu") = std::shared_ptr<Gpu>())
      .def("run", &PyExecutor::run, py::arg("program"), py::arg("scope"), py::arg("feed"),
           py::arg("fetch"), py::arg("return_numpy") = true, py::arg("step") = -1,
           py::arg("job") = std::shared_ptr<PyJob>(), "With a job, a step of it.")
      .def("profile", [](PyExecutor& e) {
        py::list out;
        for (const OpCost& c : e.profile())
          out.append(py::make_tuple(c.op, c.seconds, c.calls, c.least, c.most));
        return out;
      });
}

}  // namespace paddle
