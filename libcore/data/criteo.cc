// Criteo's click logs: a label, 13 numbers and 26 categories, separated by tabs; any but the label
// may be missing. Numbers are scaled, categories hashed.
#include <array>
#include <cmath>

#include "base/suggest.h"
#include "data/criteo_line.h"
#include "data/datasets.h"
#include "data/formats.h"
#include "data/generate_clicks.h"
#include "data/generated_lines.h"

namespace paddle {
namespace {

constexpr const char* generated_name = "generated click log";

struct CriteoKeys {
  CriteoRules rules;
  bool sequences = false;
  int64_t records = 100000, test_records = 20000;

  void declare(Arguments& a) {
    std::string scale = "log";
    int64_t seed = 0;
    a.optional("scale", scale,
               "of numbers: log (log(1 + x), 0 where x is negative), min_max ((x - min) / (max - "
               "min), with the ranges of PaddlePaddle's criteo_reader.py) or none; a missing "
               "number is 0");
    a.optional("hash_size", rules.hash_size,
               "categories are hashed into [0, hash_size); 0 = all 64 bits");
    a.optional("hash_seed", seed, "another one gives other ids");
    a.optional("sequences", sequences, "categories are sequences of one id (lod_level 1)");
    a.optional("records", records, "without files: how many are generated for training");
    a.optional("test_records", test_records, "without files: how many are generated for tests");
    rules.seed = static_cast<uint64_t>(seed);
    static const std::vector<std::string> known = {"log", "min_max", "none"};
    const auto it = std::find(known.begin(), known.end(), scale);
    if (it == known.end())
      a.problem("scale", text("'scale' must be one of ", listed(known), ", found '", scale, "'",
                              did_you_mean(scale, known)));
    else
      rules.scale = static_cast<CriteoRules::Scale>(it - known.begin());
    if (rules.hash_size < 0) a.problem("hash_size", "'hash_size' must not be negative");
    if (records < 1) a.problem("records", "'records' must be at least 1");
    if (test_records < 1) a.problem("test_records", "'test_records' must be at least 1");
  }
};

class CriteoFormat : public LineFormat {
 public:
  CriteoFormat(std::vector<FieldSpec> fields, const CriteoRules& rules)
      : fields_(std::move(fields)), parser_(rules) {}

  const std::vector<FieldSpec>& fields() const override { return fields_; }
  bool is_record(std::string_view line) override { return !line.empty(); }
  void parse(std::string_view line, const LineReader& at, Columns& to) override {
    parser_.parse(line, at, record_);
    to.add_run<float>(0, record_.numbers);
    for (size_t k = 0; k < criteo_categories; ++k) to.add(1 + k, record_.ids[k]);
    to.add(1 + criteo_categories, record_.label);
  }

 private:
  std::vector<FieldSpec> fields_;
  CriteoParser parser_;
  CriteoRecord record_;
};

std::vector<FieldSpec> criteo_fields(const CriteoKeys& keys) {
  std::vector<FieldSpec> fields{{"dense_input", DType::f32, {criteo_numbers}}};
  const int64_t bound = keys.rules.hash_size > 0 ? keys.rules.hash_size : -1;
  for (size_t k = 1; k <= criteo_categories; ++k)
    fields.push_back({text("C", k), DType::i64, {1}, keys.sequences ? 1 : 0, bound});
  fields.push_back({"label", DType::i64, {1}, 0, 2});
  return fields;
}

std::unique_ptr<Reader> open_criteo(const ReaderSpec& spec, const CriteoKeys& keys) {
  std::vector<FieldSpec> fields = criteo_fields(keys);
  rename_fields(fields, spec);
  auto format = std::make_unique<CriteoFormat>(std::move(fields), keys.rules);
  if (!spec.files.empty())
    return read_lines(std::move(format), "criteo", {resolve_files(spec.files, "criteo", spec)},
                      spec);
  const auto records = static_cast<uint64_t>(keys.records);
  const uint64_t first = spec.test ? records : 0;
  const uint64_t count = spec.test ? static_cast<uint64_t>(keys.test_records) : records;
  const uint64_t seed = spec.seed;
  const auto open = [=](const std::string&) { return click_log(seed, first, count); };
  auto reader = read_lines(std::move(format), "criteo", {{generated_name}, open}, spec);
  const double best = attainable_auc(seed, first, std::min<uint64_t>(count, 20000));
  return as_generated(std::move(reader), generated_source("criteo", count, seed, best));
}

OpenReader declare_criteo(Arguments& a) {
  CriteoKeys keys;
  keys.declare(a);
  return [keys](const ReaderSpec& spec) { return open_criteo(spec, keys); };
}

}  // namespace

DataFormat criteo_format() {
  return {"criteo",
          "click logs of a label, 13 numbers and 26 categories, separated by tabs; the fields are "
          "the numbers, C1 to C26 and the label",
          declare_criteo};
}

}  // namespace paddle
