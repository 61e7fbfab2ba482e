// LibSVM text: a label and ascending index:value pairs. Gives ids and values as sequences with the
// same offsets.
#include <algorithm>
#include <cmath>

#include "base/suggest.h"
#include "data/byte_source.h"
#include "data/datasets.h"
#include "data/formats.h"
#include "data/generate.h"
#include "data/line_format.h"

namespace paddle {
namespace {

constexpr int64_t a9a_dimension = 123;

// How int64 or float32 labels come out of the numbers of a file.
enum class SvmLabels {
  signs,    // -1 or 0 -> 0, +1 -> 1, int64
  classes,  // 0 … classes - 1, int64
  numbers,  // as they stand, float32
};

struct LibsvmKeys {
  int64_t dimension = 0, index_base = 1, classes = 0;
  SvmLabels labels = SvmLabels::signs;

  void declare(Arguments& a) {
    std::string name = "signs";
    a.optional("dimension", dimension, "ids lie below; 0 = any");
    a.optional("index_base", index_base, "the index in the file that becomes id 0");
    a.optional("labels", name, "signs (-1 or 0 and +1), classes or numbers");
    a.optional("classes", classes, "with labels = classes: how many there are");
    static const std::vector<std::string> known = {"signs", "classes", "numbers"};
    const auto it = std::find(known.begin(), known.end(), name);
    if (it == known.end())
      return a.problem("labels", text("'labels' must be one of ", listed(known), ", found '", name,
                                      "'", did_you_mean(name, known)));
    labels = static_cast<SvmLabels>(it - known.begin());
  }
};

class LibsvmFormat : public LineFormat {
 public:
  LibsvmFormat(std::vector<FieldSpec> fields, const LibsvmKeys& keys, int64_t dimension)
      : fields_(std::move(fields)),
        labels_(keys.labels),
        classes_(keys.classes),
        base_(keys.index_base),
        dimension_(dimension) {}

  const std::vector<FieldSpec>& fields() const override { return fields_; }
  bool is_record(std::string_view line) override {
    const std::string_view word = next_word(line);
    return !word.empty() && word[0] != '#';
  }
  void parse(std::string_view line, const LineReader& at, Columns& to) override {
    line = line.substr(0, line.find('#'));  // the rest is a comment
    add_label(next_word(line), at, to);
    add_pairs(line, at, to);
  }

 private:
  void add_label(std::string_view word, const LineReader& at, Columns& to) {
    double value = 0;
    if (!parse_float(word, value))
      at.fail("a label that is a number", quoted(word), "correct or remove the row");
    if (labels_ == SvmLabels::numbers) return to.add(2, static_cast<float>(value));
    if (labels_ == SvmLabels::signs) {
      if (value != -1 && value != 0 && value != 1)
        at.fail("a label of -1, 0 or +1", quoted(word), "set labels to classes or numbers");
      return to.add(2, int64_t{value > 0});
    }
    if (!(value >= 0 && value < static_cast<double>(classes_)) || value != std::floor(value))
      at.fail(text("a class from 0 to ", classes_ - 1), quoted(word),
              "correct the row or raise classes");
    to.add(2, static_cast<int64_t>(value));
  }

  void add_pairs(std::string_view line, const LineReader& at, Columns& to) {
    int64_t last = -1;
    for (std::string_view pair = next_word(line); !pair.empty(); pair = next_word(line)) {
      const size_t colon = pair.find(':');
      int64_t index = 0;
      float value = 0;
      if (colon == std::string_view::npos || !parse_int(pair.substr(0, colon), index) ||
          !parse_float(pair.substr(colon + 1), value))
        at.fail("index:value with a finite number", quoted(pair), "correct or remove the row");
      if (index < base_ || (dimension_ > 0 && index - base_ >= dimension_))
        at.fail(dimension_ > 0 ? text("an index from ", base_, " to ", base_ + dimension_ - 1)
                               : text("an index from ", base_, " on"),
                quoted(pair), "set dimension (or index_base) to what the file has");
      const int64_t id = index - base_;
      if (id <= last)
        at.fail(text("an index above ", last + base_), quoted(pair),
                "sort the pairs of the row and give each index once");
      last = id;
      to.add(0, id);
      to.add(1, value);
    }
  }

  const std::vector<FieldSpec> fields_;
  const SvmLabels labels_;
  const int64_t classes_, base_, dimension_;
};

void generate(const ReaderSpec& spec, SvmLabels labels, Columns& to) {
  constexpr size_t train = 32561, test = 16281;
  for (const BinaryRow& row :
       generate_binary_rows(spec.seed, spec.test ? train : 0, spec.test ? test : train)) {
    for (const int id : row.ids) {
      to.add(0, int64_t{id});
      to.add(1, 1.0f);
    }
    if (labels == SvmLabels::numbers)
      to.add(2, row.positive ? 1.0f : -1.0f);
    else
      to.add(2, int64_t{row.positive});
    to.end_record("a9a");
  }
}

std::unique_ptr<Reader> open_libsvm(const ReaderSpec& spec, const LibsvmKeys& keys) {
  require(keys.labels != SvmLabels::classes || keys.classes > 0, Error::Kind::config,
          "libsvm: labels are classes, so classes must say how many there are");
  require(keys.dimension >= 0 && keys.index_base >= 0, Error::Kind::config,
          "libsvm: dimension and index_base must not be negative");
  std::vector<std::string> files = resolve_files(spec.files, "a9a", spec);
  const bool known_set = files.empty();
  const std::string name = spec.test ? "a9a.t" : "a9a";
  if (known_set)
    if (const auto found = find_dataset("a9a", name, spec)) files = {*found};
  const int64_t dimension = known_set && keys.dimension == 0 ? a9a_dimension : keys.dimension;
  const bool numbers = keys.labels == SvmLabels::numbers;
  std::vector<FieldSpec> fields{{"ids", DType::i64, {1}, 1, dimension > 0 ? dimension : -1},
                                {"values", DType::f32, {1}, 1},
                                {"label",
                                 numbers ? DType::f32 : DType::i64,
                                 {1},
                                 0,
                                 numbers                           ? -1
                                 : keys.labels == SvmLabels::signs ? 2
                                                                   : keys.classes}};
  rename_fields(fields, spec);
  if (!files.empty())
    return read_lines(std::make_unique<LibsvmFormat>(std::move(fields), keys, dimension), "libsvm",
                      {files}, spec);
  require(dimension >= a9a_dimension, Error::Kind::config, "libsvm: generated rows have ",
          a9a_dimension, " features, which dimension ", dimension, " does not hold");
  auto columns = std::make_unique<Columns>(std::move(fields), spec.memory_limit);
  generate(spec, keys.labels, *columns);
  std::string source = text(not_found("a9a", name, spec), ": ", columns->size(),
                            " records generated from seed ", spec.seed);
  return read_records(std::move(columns), spec, std::move(source), true);
}

OpenReader declare_libsvm(Arguments& a) {
  LibsvmKeys keys;
  keys.declare(a);
  return [keys](const ReaderSpec& spec) { return open_libsvm(spec, keys); };
}

}  // namespace

DataFormat libsvm_format() {
  return {"libsvm", "a label and ascending index:value pairs: ids and values of equal lengths",
          declare_libsvm};
}

}  // namespace paddle
