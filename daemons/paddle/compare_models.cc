#include "paddle/compare_models.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include "base/file.h"
#include "io/binary_reader.h"
#include "io/checkpoint.h"
#include "io/tensor_file.h"
#include "paddle/compare_tables.h"
#include "paddle/text_table.h"

namespace paddle {
namespace {

namespace fs = std::filesystem;
constexpr uint64_t most_bytes = uint64_t{1} << 40, most_state = 64u << 20;

// Relative names of the files with values; tables apart.
struct ValueFiles {
  std::set<std::string> parameters, tables;
};

ValueFiles value_files(const std::string& directory) {
  const std::set<std::string> others{"__model__", "done", "train_state", "path.txt"};
  ValueFiles out;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (!entry.is_regular_file()) continue;
    const std::string name = fs::relative(entry.path(), directory).string();
    if (others.count(name) > 0 || entry.path().extension() == ".json") continue;
    (entry.path().extension() == ".table" ? out.tables : out.parameters).insert(name);
  }
  return out;
}

struct NamedTensor {
  std::string name;
  Tensor value;
};

// One of a file of its own; of a file with several all, numbered.
std::vector<NamedTensor> read_tensors(const std::string& directory, const std::string& name) {
  BinaryReader in(directory + "/" + name);
  std::vector<NamedTensor> out;
  do out.push_back({text(name, "#", out.size()), read_tensor(in)});
  while (in.left() > 0);
  if (out.size() == 1) out[0].name = name;
  return out;
}

std::string number_text(double v) {
  char out[32];
  std::snprintf(out, sizeof out, "%.3g", v);
  return out;
}

template <class T>
void add_elements(const Tensor& a, const Tensor& b, NumberDifference& out) {
  for (int64_t i = 0; i < a.numel(); ++i)
    out.add(static_cast<double>(a.data<T>()[i]), static_cast<double>(b.data<T>()[i]));
}

class Comparison {
 public:
  Comparison(const std::string& a, const std::string& b, double tolerance)
      : a_(a), b_(b), tolerance_(tolerance) {}

  ModelComparison run() {
    const ValueFiles in_a = value_files(a_), in_b = value_files(b_);
    each_name(in_a.parameters, in_b.parameters, "[]",
              [&](const std::string& name) { compare_file(name); });
    each_name(in_a.tables, in_b.tables, "table",
              [&](const std::string& name) { compare_table(name); });
    out_.text = text_table({"PARAMETER", "SHAPE", "DIFFER", "LARGEST", "RELATIVE"}, rows_);
    out_.text += text("same bytes: ", same_, "; different: ", different_.size(), "\n");
    compare_programs();
    return out_;
  }

 private:
  template <class Both>
  void each_name(const std::set<std::string>& a, const std::set<std::string>& b,
                 const std::string& shape, const Both& both) {
    std::set<std::string> all = a;
    all.insert(b.begin(), b.end());
    for (const std::string& name : all) {
      if (a.count(name) > 0 && b.count(name) > 0) {
        both(name);
        continue;
      }
      out_.equal = false;
      different_.insert(name);
      rows_.push_back({name, shape == "[]" ? "" : shape,
                       a.count(name) > 0 ? "only in " + a_ : "only in " + b_});
    }
  }

  void add(const std::string& name, const std::string& shape, const NumberDifference& d) {
    out_.equal = out_.equal && d.within(tolerance_);
    different_.insert(name);
    const bool odd = d.not_finite > 0;
    rows_.push_back({name, shape, text(d.differing, " of ", d.count),
                     odd ? text(d.not_finite, " NaN or Inf") : number_text(d.largest),
                     odd ? "" : number_text(d.relative)});
  }

  void differ(const std::string& name, const std::string& shape, const std::string& why) {
    out_.equal = false;
    different_.insert(name);
    rows_.push_back({name, shape, why});
  }

  void compare_file(const std::string& name) {
    std::vector<NamedTensor> a, b;
    try {
      a = read_tensors(a_, name);
      b = read_tensors(b_, name);
    } catch (const Error& e) {
      if (e.kind() != Error::Kind::data) throw;
      // Selected rows, or no file of ours: its bytes can be compared.
      if (read_file(a_ + "/" + name, most_bytes) == read_file(b_ + "/" + name, most_bytes))
        ++same_;
      else
        differ(name, "", text("the bytes differ; as a tensor it cannot be read: ", e.what()));
      return;
    }
    if (a.size() != b.size())
      return differ(name, "", text(a.size(), " and ", b.size(), " parameters"));
    for (size_t i = 0; i < a.size(); ++i) compare_tensor(a[i].name, a[i].value, b[i].value);
  }

  void compare_tensor(const std::string& name, const Tensor& a, const Tensor& b) {
    if (a.shape() != b.shape() || a.dtype() != b.dtype())
      return differ(name, a.shape().str(),
                    a.shape() == b.shape() ? "another type" : "the other is " + b.shape().str());
    if (std::memcmp(a.raw(), b.raw(), a.bytes()) == 0 && a.lod() == b.lod()) {
      ++same_;
      return;
    }
    add(name, a.shape().str(), difference(a, b));
  }

  void compare_table(const std::string& name) {
    const RowsDifference d = compare_tables(a_ + "/" + name, b_ + "/" + name);
    if (!d.other_shape.empty()) return differ(name, "table", d.other_shape);
    if (d.only_a + d.only_b > 0)
      differ(name, "rows", text(d.only_a, " only in ", a_, ", ", d.only_b, " only in ", b_));
    if (d.values.differing > 0) add(name, "values", d.values);
    if (d.states.differing > 0) add(name, "state", d.states);
    if (d.only_a + d.only_b + d.values.differing + d.states.differing == 0) ++same_;
  }

  void compare_programs() {
    std::string digests[2];
    for (int i = 0; i < 2; ++i) {
      const std::string path = (i == 0 ? a_ : b_) + "/train_state";
      if (!is_file(path)) return;
      const TrainState state = read_train_state(read_file(path, most_state), path);
      digests[i] = state.program_digest;
      out_.text +=
          text(i == 0 ? a_ : b_, ": step ", state.step, ", ", state.pass, " passes done\n");
    }
    out_.text +=
        digests[0] == digests[1]
            ? "trained by the same program\n"
            : "trained by different programs (layers, optimizer, seed or their settings)\n";
  }

  const std::string a_, b_;
  const double tolerance_;
  std::vector<TextRow> rows_;
  uint64_t same_ = 0;
  std::set<std::string> different_;  // parameters and tables
  ModelComparison out_;
};

}  // namespace

void NumberDifference::add(double a, double b) {
  ++count;
  if (a == b ? std::signbit(a) == std::signbit(b) : std::isnan(a) && std::isnan(b)) return;
  ++differing;
  if (!std::isfinite(a) || !std::isfinite(b)) {
    ++not_finite;
    return;
  }
  const double apart = std::abs(a - b);
  largest = std::max(largest, apart);
  relative = std::max(relative, apart / std::max({std::abs(a), std::abs(b), 1e-300}));
}

NumberDifference difference(const Tensor& a, const Tensor& b) {
  NumberDifference out;
  switch (a.dtype()) {
    case DType::f32: add_elements<float>(a, b, out); break;
    case DType::f64: add_elements<double>(a, b, out); break;
    case DType::i64: add_elements<int64_t>(a, b, out); break;
    case DType::i32: add_elements<int32_t>(a, b, out); break;
    default: {  // no arithmetic: bytes
      const auto *x = static_cast<const unsigned char*>(a.raw()),
                 *y = static_cast<const unsigned char*>(b.raw());
      for (size_t i = 0; i < a.bytes(); ++i)
        out.add(static_cast<double>(x[i]), static_cast<double>(y[i]));
    }
  }
  return out;
}

bool is_model(const std::string& path) {
  for (const char* name : {"__model__", "train_state", "done"})
    if (is_file(path + "/" + name)) return true;
  return false;
}

ModelComparison compare_models(const std::string& a, const std::string& b, double tolerance) {
  return Comparison(a, b, tolerance).run();
}

}  // namespace paddle
