// Training over files of MultiSlot text: what stands behind fluid's data sets and
// train_from_dataset.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <thread>

#include "base/thread_pool.h"
#include "bindings.h"
#include "data/slot_files.h"

namespace paddle {
namespace {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// What a thread calls for its next batch; false at the end of the pass.
using NextBatch = std::function<bool(Batch&)>;

py::object tensors_of(Batch& batch, bool more) {
  if (!more) return py::none();
  py::list out;
  for (Tensor& field : batch.fields) out.append(PyTensor(std::move(field)));
  return out;
}

// Streams over one list of files. Python keeps it alive as long as its streams.
struct PySlotFiles {
  PySlotFiles(const SlotSpec& s, std::vector<std::string> names)
      : spec(s), files(std::make_shared<FileList>(std::move(names))) {}
  SlotSpec spec;
  std::shared_ptr<FileList> files;  // shared with the streams
  NextBatch open() const {
    auto list = files;
    auto stream = std::make_shared<SlotStream>(spec, *list);
    return [list, stream](Batch& batch) { return stream->next(batch); };
  }
};

struct PySlotStream {
  NextBatch next;
};

// One thread's way through a pass: its own plan over the shared scope.
struct Worker {
  NextBatch next;
  std::unique_ptr<Executor> executor;
  double read_seconds = 0;
  int64_t batches = 0, samples = 0;
};

// Runs a program on every batch, by several threads over one scope at once: each has temporaries of
// its own, all share parameters, and nobody waits for anybody (Hogwild). The calling thread waits
// and looks for interrupts.
class Hogwild {
 public:
  struct Options {
    Names feeds, fetches;
    int64_t print_period = 100;
    bool debug = false;
    py::function on_print;                            // called with the fetched tensors by thread 0
    std::shared_ptr<std::atomic<bool>> stop_reading;  // of sources that may wait; may be null
  };

  Hogwild(ProgramPtr program, ScopePtr scope, Options options)
      : program_(std::move(program)), scope_(std::move(scope)), options_(std::move(options)) {}

  int64_t run(std::vector<NextBatch> sources) {
    const auto held = locked(scope_->mutex);
    std::vector<Worker> workers(sources.size());
    for (size_t i = 0; i < sources.size(); ++i) {
      ExecutorOptions o;
      o.plan.profile = options_.debug;
      workers[i] = {std::move(sources[i]), std::make_unique<Executor>(o)};
    }
    running_ = workers.size();
    {
      const py::gil_scoped_release others;
      std::vector<std::jthread> threads;
      for (size_t i = 0; i < workers.size(); ++i)
        threads.emplace_back([this, &workers, i] { work(workers[i], i == 0); });
      wait();
    }
    if (error_) std::rethrow_exception(error_);
    int64_t batches = 0;
    for (const Worker& w : workers) batches += w.batches;
    return batches;
  }

 private:
  void wait() {
    std::unique_lock lock(mutex_);
    while (running_ > 0) {
      change_.wait_for(lock, std::chrono::milliseconds(200));
      lock.unlock();
      {
        const py::gil_scoped_acquire gil;
        if (!stop_ && PyErr_CheckSignals() != 0)
          fail(std::make_exception_ptr(py::error_already_set()));
      }
      lock.lock();
    }
  }

  void fail(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
    stop_ = true;
    if (options_.stop_reading) *options_.stop_reading = true;
  }

  void work(Worker& w, bool first) {
    flush_denormals();
    try {
      loop(w, first);
    } catch (...) {
      fail(std::current_exception());
    }
    const std::lock_guard lock(mutex_);
    --running_;
    change_.notify_all();
  }

  void loop(Worker& w, bool first) {
    Batch batch;
    const auto begin = Clock::now();
    while (!stop_) {
      const auto before = Clock::now();
      if (!w.next(batch)) break;
      w.read_seconds += since(before);
      Plan& plan = step(w, batch);
      ++w.batches;
      w.samples += batch.samples;
      if (!first) continue;
      if (!options_.fetches.empty() && w.batches % options_.print_period == 0) print(plan);
      if (options_.debug && w.batches % 100 == 0) print_costs(w, plan, since(begin));
    }
  }

  // The first step of a thread lays its plan out, which looks into the scope: one thread at a time.
  Plan& step(Worker& w, const Batch& batch) {
    std::unique_lock lock(first_step_, std::defer_lock);
    if (w.batches == 0) lock.lock();
    Plan& plan = w.executor->plan(*program_, scope_->scope, options_.feeds, options_.fetches);
    for (size_t i = 0; i < batch.fields.size(); ++i) plan.feed(i, batch.fields[i]);
    plan.run(steps_++);
    return plan;
  }

  void print(const Plan& plan) {
    std::vector<Tensor> values;
    for (size_t i = 0; i < options_.fetches.size(); ++i) values.push_back(plan.fetch(i));
    const py::gil_scoped_acquire gil;
    py::list out;
    for (Tensor& v : values) out.append(PyTensor(std::move(v)));
    options_.on_print(out);
  }

  static void print_costs(const Worker& w, const Plan& plan, double seconds) {
    const auto batches = static_cast<double>(w.batches);
    int i = 0;
    for (const OpCost& cost : plan.profile())
      std::fprintf(stderr, "op_name:[%d][%s], op_mean_time:[%.9fs]\n", i++,
                   cost.op.substr(0, cost.op.find(':')).c_str(),
                   cost.calls ? cost.seconds / static_cast<double>(cost.calls) : 0.0);
    std::fprintf(stderr, "mean read time: %fs\n", w.read_seconds / batches);
    std::fprintf(stderr, "IO percent: %f\n", 100 * w.read_seconds / seconds);
    std::fprintf(stderr, "%6.2f instances/s\n", static_cast<double>(w.samples) / seconds);
  }

  ProgramPtr program_;
  ScopePtr scope_;
  Options options_;
  std::mutex first_step_, mutex_;
  std::condition_variable change_;
  std::atomic<bool> stop_ = false;
  std::atomic<uint64_t> steps_ = 0;
  size_t running_ = 0;
  std::exception_ptr error_;
};

SlotSpec slot_spec(const py::list& slots, const std::string& command, int64_t batch_size,
                   const std::string& hdfs_name, const std::string& hdfs_ugi) {
  SlotSpec spec;
  for (const py::handle row : slots) {
    const auto slot = row.cast<py::tuple>();  // name, dtype, shape of one sample, lod_level
    spec.slots.push_back({slot[0].cast<std::string>(), dtype_of(slot[1].cast<std::string>()),
                          shape_of(slot[2]), slot[3].cast<int>()});
  }
  spec.command = command;
  spec.batch_size = batch_size;
  spec.hdfs = {hdfs_name, hdfs_ugi};
  return spec;
}

int64_t hogwild(const ProgramPtr& program, const ScopePtr& scope, const py::object& source,
                int threads, const Names& feeds, const Names& fetches, int64_t print_period,
                bool debug, const py::function& on_print) {
  std::vector<NextBatch> sources;
  std::shared_ptr<std::atomic<bool>> stop;
  if (py::isinstance<PySlotFiles>(source)) stop = source.cast<const PySlotFiles&>().spec.stop;
  for (int t = 0; t < threads; ++t) {
    if (py::isinstance<SlotMemory>(source)) {
      auto* memory = source.cast<SlotMemory*>();
      sources.emplace_back([memory](Batch& batch) { return memory->next(batch); });
    } else {
      sources.push_back(source.cast<const PySlotFiles&>().open());
    }
  }
  return Hogwild(program, scope, {feeds, fetches, print_period, debug, on_print, stop})
      .run(std::move(sources));
}

}  // namespace

void bind_dataset(py::module_& m) {
  py::class_<SlotSpec>(m, "SlotSpec", "Slots of MultiSlot text and the command that makes it.")
      .def(py::init(&slot_spec), py::arg("slots"), py::arg("command"), py::arg("batch_size"),
           py::arg("hdfs_name") = "", py::arg("hdfs_ugi") = "");
  py::class_<PySlotStream>(m, "SlotStream", "One user's batches of a list of files.")
      .def("next", [](PySlotStream& s) {
        Batch batch;
        bool more = false;
        {
          const py::gil_scoped_release others;
          more = s.next(batch);
        }
        return tensors_of(batch, more);
      });
  py::class_<PySlotFiles>(m, "SlotFiles", "A list of files that several users read.")
      .def(py::init<const SlotSpec&, std::vector<std::string>>(), py::arg("spec"), py::arg("files"))
      .def("open", [](const PySlotFiles& f) { return PySlotStream{f.open()}; })
      .def(
          "stop", [](PySlotFiles& f) { *f.spec.stop = true; }, "Ends the waits of its users.");
  py::class_<SlotMemory>(m, "SlotMemory", "Records of files, held in memory.")
      .def(py::init<const SlotSpec&>(), py::arg("spec"))
      .def("load", &SlotMemory::load, py::arg("files"), py::arg("threads"),
           py::call_guard<py::gil_scoped_release>())
      .def("stop", &SlotMemory::stop, "Ends a load() of another thread.")
      .def("shuffle", &SlotMemory::shuffle_records, py::arg("seed"),
           py::call_guard<py::gil_scoped_release>())
      .def("size", &SlotMemory::size)
      .def("clear", &SlotMemory::clear)
      .def("rewind", &SlotMemory::rewind)
      .def("next", [](SlotMemory& s) {
        Batch batch;
        bool more = false;
        {
          const py::gil_scoped_release others;
          more = s.next(batch);
        }
        return tensors_of(batch, more);
      });
  m.def("hogwild", &hogwild, py::arg("program"), py::arg("scope"), py::arg("source"),
        py::arg("threads"), py::arg("feeds"), py::arg("fetches"), py::arg("print_period"),
        py::arg("debug"), py::arg("on_print"),
        "Runs the program on every batch of the source; the number of batches.");
}

}  // namespace paddle
