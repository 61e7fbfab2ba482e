// The readers of libcore/data: known sets as batches, text for language models, where files are.
#include <bit>
#include <cstring>
#include <optional>

#include "bindings.h"
#include "data/datasets.h"
#include "data/reader.h"
#include "data/text_source.h"

namespace paddle {
namespace {

// Where files are searched for: as data_dir, PADDLE_DATA_HOME and the home directory say.
struct Places {
  std::string data_dir, data_home, home;
};

ReaderSpec spec_of(const std::string& format, const Places& places, bool test, uint64_t seed) {
  ReaderSpec spec;
  spec.format = format;
  spec.test = test;
  spec.seed = seed;
  spec.data_dir = places.data_dir;
  spec.data_home = places.data_home;
  spec.home = places.home;
  return spec;
}

// The number that a sample of one element is; false where it is none that fits as it is.
template <class T>
bool number(py::handle sample, T& out) {
  if (PyLong_CheckExact(sample.ptr())) {
    const auto value = PyLong_AsLongLong(sample.ptr());
    if (value == -1 && PyErr_Occurred()) {
      PyErr_Clear();
      return false;
    }
    out = static_cast<T>(value);
    return true;
  }
  if (std::is_floating_point_v<T> && PyFloat_CheckExact(sample.ptr())) {
    out = static_cast<T>(PyFloat_AS_DOUBLE(sample.ptr()));
    return true;
  }
  return false;
}

template <class T>
constexpr int type_number =
    std::is_same_v<T, float> ? py::detail::npy_api::NPY_FLOAT_ : py::detail::npy_api::NPY_LONG_;

// Where the elements of a sample are, if it is an array of `width` of them in a row, else null.
template <class T>
const T* elements(py::handle sample, int64_t width) {
  if (!py::isinstance<py::array>(sample)) return nullptr;
  const auto array = py::reinterpret_borrow<py::array>(sample);
  const auto* type =
      py::detail::array_descriptor_proxy(py::detail::array_proxy(sample.ptr())->descr);
  if (type->type_num != type_number<T> || type->byteorder == '>' || array.size() != width ||
      !(array.flags() & py::array::c_style))
    return nullptr;
  return static_cast<const T*>(array.data());
}

// Copies that take longer than the interpreter's lock leave the interpreter to other threads.
constexpr size_t large_copy = size_t{32} << 10;

template <class T>
py::object stacked(const std::vector<py::object>& values, const Shape& shape) {
  const int64_t width = shape.numel() / static_cast<int64_t>(values.size());
  std::vector<const T*> rows(values.size());  // `values` keeps what they point to
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = elements<T>(values[i], width);
  std::optional<Tensor> out;
  const auto copy = [&] {
    out.emplace(dtype_v<T>, shape);
    for (size_t i = 0; i < rows.size(); ++i)
      if (rows[i])
        std::memcpy(out->data<T>() + static_cast<int64_t>(i) * width, rows[i],
                    static_cast<size_t>(width) * sizeof(T));
  };
  if (rows.size() * static_cast<size_t>(width) * sizeof(T) >= large_copy) {
    const py::gil_scoped_release others;
    copy();
  } else {
    copy();
  }
  for (size_t i = 0; i < rows.size(); ++i)
    if (!rows[i] && (width != 1 || !number(values[i], out->data<T>()[i]))) return py::none();
  return py::cast(PyTensor(std::move(*out)));
}

// Field `index` of all samples as one tensor [samples, shape of one]. None where the samples are
// not all tuples or lists of `fields` values, or where the values are not all arrays, or numbers,
// that fit as they are: the caller then converts, or says what is wrong.
py::object stack_field(const py::list& samples, size_t index, size_t fields,
                       const std::string& dtype, const py::tuple& shape) {
  Shape whole{static_cast<int64_t>(samples.size())};
  for (const py::handle length : shape) whole.append(length.cast<int64_t>());
  if (samples.empty() || whole.numel() <= 0) return py::none();
  std::vector<py::object> values;  // holds references: other threads may change the list meanwhile
  values.reserve(samples.size());
  for (const py::handle sample : samples) {
    PyObject* s = sample.ptr();
    if (!PyTuple_CheckExact(s) && !PyList_CheckExact(s)) return py::none();
    if (static_cast<size_t>(PySequence_Fast_GET_SIZE(s)) != fields) return py::none();
    values.push_back(py::reinterpret_borrow<py::object>(PySequence_Fast_ITEMS(s)[index]));
  }
  if (dtype == "float32") return stacked<float>(values, whole);
  if (dtype == "int64") return stacked<int64_t>(values, whole);
  return py::none();
}

// The next `count` outputs of Python's generator: getrandbits(32 * count) puts them side by side,
// the first one lowest.
std::vector<uint32_t> random_words(const py::function& getrandbits, size_t count) {
  const py::object drawn = getrandbits(32 * count);
  const auto bytes = drawn.attr("to_bytes")(4 * count, "little").cast<py::bytes>();
  std::vector<uint32_t> out(count);
  std::memcpy(out.data(), PyBytes_AS_STRING(bytes.ptr()), 4 * count);
  return out;
}

// What random.shuffle() does, with the same numbers and as many of them, in a fraction of its time.
// Each place takes one output of the generator, and another one where that is out of range; so as
// many as there are places left can be drawn at once and all are used.
void shuffle_list(const py::list& list, const py::function& getrandbits) {
  const size_t size = list.size();
  require(size < (uint64_t{1} << 32), Error::Kind::config, "a list of ", size,
          " samples cannot be shuffled");
  for (size_t left = size; left > 1;) {
    const std::vector<uint32_t> words = random_words(getrandbits, left - 1);
    require(list.size() == size, Error::Kind::config, "the list changed while it was shuffled");
    PyObject** items = PySequence_Fast_ITEMS(list.ptr());
    for (const uint32_t word : words) {
      const size_t at = word >> (32 - std::bit_width(left));
      if (at >= left) continue;
      --left;
      std::swap(items[left], items[at]);
    }
  }
}

// One pass over a known set, in the order of its file. `keys` are the format's own.
class PyReader {
 public:
  PyReader(const std::string& format, const Places& places, bool test, uint64_t seed,
           int64_t batch_size, const py::dict& keys) {
    ReaderSpec spec = spec_of(format, places, test, seed);
    spec.batch_size = batch_size;
    spec.keys = dict_of(keys);
    const py::gil_scoped_release others;
    reader_ = open_reader(spec);
  }

  // The arrays of the next batch; they stay good, each batch has its own memory.
  py::list next() {
    Batch batch;
    bool more = false;
    {
      const py::gil_scoped_release others;
      more = reader_->next(batch);
    }
    if (!more) throw py::stop_iteration();
    py::list out;
    for (const Tensor& field : batch.fields) out.append(array_over(field));
    return out;
  }

  std::string source() const { return reader_->source(); }
  int64_t records() const { return reader_->records(); }
  void start_pass(uint64_t pass) { reader_->start_pass(pass); }

 private:
  std::unique_ptr<Reader> reader_;
};

WordCounts count_words(const TextSource& from, const ReaderSpec& spec) {
  WordCounts counts;
  MemoryBudget budget(spec.memory_limit);
  each_dictionary_line(from, [&](std::string_view line, const std::string& file) {
    counts.add_line(line, budget, file);
  });
  return counts;
}

WordMap build_dictionary(const Places& places, uint64_t seed, int64_t min_word_freq) {
  const ReaderSpec spec = spec_of("ngram", places, false, seed);
  const py::gil_scoped_release others;
  return dictionary_of(count_words(find_text(spec), spec), min_word_freq);
}

std::vector<std::string> text_lines(const Places& places, bool test, uint64_t seed) {
  const ReaderSpec spec = spec_of("ngram", places, test, seed);
  const py::gil_scoped_release others;
  const TextSource from = find_text(spec);
  const int64_t lines = from.split ? count_words(from, spec).lines() : 0;
  std::vector<std::string> out;
  each_record_line(from, test, lines,
                   [&](std::string_view line, const std::string&) { out.emplace_back(line); });
  return out;
}

std::string text_missing(const Places& places, bool test, uint64_t seed) {
  const ReaderSpec spec = spec_of("ngram", places, test, seed);
  const TextSource from = find_text(spec);
  return from.generated() ? not_found("imikolov", "ptb.train.txt or tinyshakespeare.txt", spec)
                          : "";
}

}  // namespace

void bind_data(py::module_& m) {
  py::class_<Places>(m, "DataPlaces", "Where the files of data sets are searched for.")
      .def(py::init<std::string, std::string, std::string>(), py::arg("data_dir"),
           py::arg("data_home"), py::arg("home"));
  py::class_<PyReader>(m, "DataReader", "One pass over a known data set, as arrays of batches.")
      .def(py::init<std::string, const Places&, bool, uint64_t, int64_t, const py::dict&>(),
           py::arg("format"), py::arg("places"), py::arg("test") = false, py::arg("seed") = 1,
           py::arg("batch_size") = 256, py::arg("keys") = py::dict())
      .def("__iter__", [](py::object self) { return self; })
      .def("__next__", &PyReader::next)
      .def("source", &PyReader::source)
      .def("records", &PyReader::records)
      .def("start_pass", &PyReader::start_pass, py::arg("number"));
  m.def("shuffle", &shuffle_list, py::arg("list"), py::arg("getrandbits"),
        "Puts a list into the order that random.shuffle would give it.");
  m.def("stack_field", &stack_field, py::arg("samples"), py::arg("index"), py::arg("fields"),
        py::arg("dtype"), py::arg("shape"),
        "One tensor of a field of many samples, or None where they do not fit as they are.");
  m.def(
      "find_dataset",
      [](const std::string& set, const std::string& file, const Places& places) {
        return find_dataset(set, file, spec_of("", places, false, 1));
      },
      py::arg("set"), py::arg("file"), py::arg("places"),
      "The path of a file of a known set, also with .gz or .xz behind its name, or None.");
  m.def("build_dictionary", &build_dictionary, py::arg("places"), py::arg("seed") = 1,
        py::arg("min_word_freq") = 50, "Word -> number over the known text.");
  m.def("text_lines", &text_lines, py::arg("places"), py::arg("test") = false, py::arg("seed") = 1,
        "The lines of the known text, of its training or its test part.");
  m.def("text_missing", &text_missing, py::arg("places"), py::arg("test") = false,
        py::arg("seed") = 1,
        "A sentence where the known text is not there and lines are generated, else ''.");
}

}  // namespace paddle
