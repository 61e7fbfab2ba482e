// Training over files of MultiSlot text: what stands behind fluid's data sets and
// train_from_dataset.
#include "bindings.h"
#include "data/slot_files.h"
#include "job.h"
#include "trainer/dataset_pass.h"

namespace paddle {
namespace {

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

SlotSpec slot_spec(const py::list& slots, const std::string& command, int64_t batch_size,
                   const std::string& hdfs_name, const std::string& hdfs_ugi, bool record_ids,
                   bool keeps_ids, const std::string& download_command) {
  SlotSpec spec;
  for (const py::handle row : slots) {
    const auto slot = row.cast<py::tuple>();  // name, dtype, shape of one sample, lod_level
    spec.slots.push_back({slot[0].cast<std::string>(), dtype_of(slot[1].cast<std::string>()),
                          shape_of(slot[2]), slot[3].cast<int>()});
  }
  spec.command = command;
  spec.batch_size = batch_size;
  spec.hdfs = {hdfs_name, hdfs_ugi, download_command};
  spec.record_ids = record_ids;
  spec.keeps_ids = keeps_ids;
  return spec;
}

std::vector<NextBatch> sources_of(const py::object& source, int threads) {
  std::vector<NextBatch> out;
  for (int t = 0; t < threads; ++t) {
    if (py::isinstance<SlotMemory>(source)) {
      auto* memory = source.cast<SlotMemory*>();
      out.emplace_back([memory](Batch& batch) { return memory->next(batch); });
    } else {
      out.push_back(source.cast<const PySlotFiles&>().open());
    }
  }
  return out;
}

PassOptions pass_options(const py::object& source, const Names& feeds, const Names& fetches,
                         int64_t print_period, bool debug, const py::function& on_print) {
  PassOptions out{.feeds = feeds, .fetches = fetches, .fetch_period = print_period};
  out.print_costs = debug;
  out.on_fetch = [&on_print](std::vector<Tensor> values) {
    const py::gil_scoped_acquire gil;
    py::list list;
    for (Tensor& v : values) list.append(PyTensor(std::move(v)));
    on_print(list);
  };
  if (py::isinstance<PySlotFiles>(source))
    out.stop_reading = [stop = source.cast<const PySlotFiles&>().spec.stop] { *stop = true; };
  return out;
}

// Without a job the threads train side by side; with one, or on a GPU, the executor's steps go in
// turn.
int64_t run_pass(PyExecutor& executor, const ProgramPtr& program, const ScopePtr& scope,
                 const py::object& source, int threads, const Names& feeds, const Names& fetches,
                 int64_t print_period, bool debug, const py::function& on_print,
                 const std::shared_ptr<PyJob>& job) {
  const PassOptions options = pass_options(source, feeds, fetches, print_period, debug, on_print);
  std::vector<NextBatch> sources = sources_of(source, threads);
  const py::gil_scoped_release others;
  if (job || executor.has_gpu())
    return executor.run_pass(program, scope, std::move(sources), options, job);
  const std::lock_guard<std::mutex> alone(scope->mutex);
  return hogwild_pass(*program, scope->scope, std::move(sources), options);
}

}  // namespace

void bind_dataset(py::module_& m) {
  py::class_<SlotSpec>(m, "SlotSpec", "Slots of MultiSlot text and the command that makes it.")
      .def(py::init(&slot_spec), py::arg("slots"), py::arg("command"), py::arg("batch_size"),
           py::arg("hdfs_name") = "", py::arg("hdfs_ugi") = "", py::arg("record_ids") = false,
           py::arg("keeps_ids") = false, py::arg("download_command") = "");
  py::class_<PySlotStream>(m, "SlotStream", "One user's batches of a list of files.")
      .def("next", [](PySlotStream& s) {
        Batch batch;
        bool more = false;
        if (s.next) {
          const py::gil_scoped_release others;
          try {
            more = s.next(batch);
          } catch (...) {
            s.next = {};  // ends its command now: who holds the exception may hold the stream, too
            throw;
          }
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
      .def(
          "load",
          [](SlotMemory& memory, const std::vector<std::string>& files, int threads, uint64_t seed,
             uint32_t part, uint32_t parts) {
            return memory.load(files, threads, {.seed = seed, .part = part, .parts = parts});
          },
          py::arg("files"), py::arg("threads"), py::arg("seed") = 0, py::arg("part") = 0,
          py::arg("parts") = 1, py::call_guard<py::gil_scoped_release>(),
          "Adds records, or the part of them that a hash of the seed gives to this one of so many; "
          "how many the files have.")
      .def("stop", &SlotMemory::stop, "Ends a load() of another thread.")
      .def("shuffle", &SlotMemory::shuffle_records, py::arg("seed"),
           py::call_guard<py::gil_scoped_release>())
      .def("merge_by_id", &SlotMemory::merge_by_id, py::arg("count"),
           py::call_guard<py::gil_scoped_release>())
      .def("shuffle_slots", &SlotMemory::shuffle_slots, py::arg("names"), py::arg("seed"),
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
  m.def("run_pass", &run_pass, py::arg("executor"), py::arg("program"), py::arg("scope"),
        py::arg("source"), py::arg("threads"), py::arg("feeds"), py::arg("fetches"),
        py::arg("print_period"), py::arg("debug"), py::arg("on_print"),
        py::arg("job") = std::shared_ptr<PyJob>(),
        "Runs the program on every batch of the source; the number of batches.");
}

}  // namespace paddle
