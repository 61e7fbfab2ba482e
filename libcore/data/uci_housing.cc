// Boston housing: 13 features, normalised over the whole file, and a price; the first four fifths
// are for training.
#include <algorithm>

#include "data/byte_source.h"
#include "data/datasets.h"
#include "data/formats.h"
#include "data/generate.h"

namespace paddle {
namespace {

constexpr size_t features = 13;
using Row = std::array<double, features + 1>;

Row parse_row(std::string_view line, const LineReader& at) {
  Row row;
  size_t n = 0;
  for (std::string_view word = next_word(line); !word.empty(); word = next_word(line), ++n) {
    if (n == row.size()) at.fail("14 numbers", "more", "use the original housing.data");
    if (!parse_float(word, row[n]))
      at.fail("a finite number in column " + std::to_string(n + 1), quoted(word),
              "correct or remove the row");
  }
  if (n < row.size())
    at.fail("14 numbers", text("only ", n), "complete the row or use the original housing.data");
  return row;
}

std::vector<Row> read_rows(const std::vector<std::string>& files, uint64_t memory_limit) {
  std::vector<Row> rows;
  MemoryBudget budget(memory_limit);
  for (const std::string& file : files) {
    LineReader lines(file);
    for (std::string_view line; lines.next(line);) {
      if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
      budget.take(sizeof(Row), file);
      rows.push_back(parse_row(line, lines));
    }
  }
  return rows;
}

// (x - mean) / (max - min) per feature. A constant column becomes 0.
void normalise(std::vector<Row>& rows) {
  for (size_t i = 0; i < features; ++i) {
    double low = rows[0][i], high = low, sum = 0;
    for (const Row& row : rows) {
      low = std::min(low, row[i]);
      high = std::max(high, row[i]);
      sum += row[i];
    }
    const double mean = sum / static_cast<double>(rows.size());
    for (Row& row : rows) row[i] = high > low ? (row[i] - mean) / (high - low) : 0;
  }
}

std::unique_ptr<Reader> open_uci_housing(const ReaderSpec& spec) {
  std::vector<std::string> files = resolve_files(spec.files, "uci_housing", spec);
  if (files.empty())
    if (const auto found = find_dataset("uci_housing", "housing.data", spec)) files = {*found};
  std::vector<Row> rows =
      files.empty() ? generate_housing(spec.seed) : read_rows(files, spec.memory_limit);
  require_records(static_cast<int64_t>(rows.size()), files.empty() ? "" : files.front());
  normalise(rows);

  std::vector<FieldSpec> fields{{"x", DType::f32, {features}}, {"y", DType::f32, {1}}};
  rename_fields(fields, spec);
  auto columns = std::make_unique<Columns>(std::move(fields), spec.memory_limit);
  const size_t cut = rows.size() * 4 / 5;
  for (size_t r = spec.test ? cut : 0; r < (spec.test ? rows.size() : cut); ++r) {
    for (size_t i = 0; i < features; ++i) columns->add(0, static_cast<float>(rows[r][i]));
    columns->add(1, static_cast<float>(rows[r][features]));
    columns->end_record("uci_housing");
  }
  const int64_t n = columns->size();
  std::string source = files.empty() ? text(not_found("uci_housing", "housing.data", spec), ": ", n,
                                            " records generated from seed ", spec.seed)
                                     : text("uci_housing: ", source_of_files(n, files));
  return read_records(std::move(columns), spec, std::move(source), files.empty());
}

OpenReader declare_uci_housing(Arguments&) { return open_uci_housing; }

}  // namespace

DataFormat uci_housing_format() {
  return {"uci_housing", "13 normalised features of a house and its price", declare_uci_housing};
}

}  // namespace paddle
