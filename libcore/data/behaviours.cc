// What people looked at, one thing more, and whether they clicked on it: MultiSlot text of three
// slots, or generated records.
#include "data/datasets.h"
#include "data/formats.h"
#include "data/generate_behaviours.h"
#include "data/generate_clicks.h"
#include "data/generated_lines.h"

namespace paddle {
namespace {

struct BehaviourKeys {
  int64_t items = behaviour_items, records = 200000, test_records = 20000;

  void declare(Arguments& a) {
    a.optional("items", items, "ids lie below; 0 = any");
    a.optional("records", records, "without files: how many are generated for training");
    a.optional("test_records", test_records, "without files: how many are generated for tests");
    if (items < 0) a.problem("items", "'items' must not be negative");
    if (records < 1) a.problem("records", "'records' must be at least 1");
    if (test_records < 1) a.problem("test_records", "'test_records' must be at least 1");
  }
};

std::unique_ptr<Reader> open_behaviours(const ReaderSpec& spec, const BehaviourKeys& keys) {
  const int64_t bound = keys.items > 0 ? keys.items : -1;
  std::vector<FieldSpec> slots{{"history", DType::i64, {1}, 1, bound},
                               {"item", DType::i64, {1}, 0, bound},
                               {"label", DType::i64, {1}, 0, 2}};
  rename_fields(slots, spec);
  auto format = multislot_lines(std::move(slots));
  if (!spec.files.empty())
    return read_lines(std::move(format), "behaviours",
                      {resolve_files(spec.files, "behaviours", spec)}, spec);
  require(bound < 0 || bound >= behaviour_items, Error::Kind::config,
          "behaviours: generated records have ", behaviour_items, " items, which items ", bound,
          " does not hold");
  const auto records = static_cast<uint64_t>(keys.records);
  const uint64_t first = spec.test ? records : 0;
  const uint64_t count = spec.test ? static_cast<uint64_t>(keys.test_records) : records;
  const uint64_t seed = spec.seed;
  const auto open = [=](const std::string&) {
    return generated_lines(first, count, [seed](uint64_t i, std::string& to) {
      append_behaviour(generate_behaviour(seed, i), to);
    });
  };
  auto reader = read_lines(std::move(format), "behaviours", {{"generated behaviours"}, open}, spec);
  std::vector<double> probabilities;
  for (uint64_t i = 0; i < std::min<uint64_t>(count, 20000); ++i)
    probabilities.push_back(generate_behaviour(seed, first + i).probability);
  return as_generated(std::move(reader), generated_source("behaviours", count, seed,
                                                          expected_auc(std::move(probabilities))));
}

OpenReader declare_behaviours(Arguments& a) {
  BehaviourKeys keys;
  keys.declare(a);
  return [keys](const ReaderSpec& spec) { return open_behaviours(spec, keys); };
}

}  // namespace

DataFormat behaviours_format() {
  return {"behaviours",
          "items that somebody looked at (a sequence), one item more, and whether it was clicked: "
          "MultiSlot lines of three slots",
          declare_behaviours};
}

}  // namespace paddle
