// CSV: columns of a text file to fields. A column in double quotes may hold the separator, not the
// end of a line.
#include "base/random.h"
#include "base/suggest.h"
#include "data/byte_source.h"
#include "data/datasets.h"
#include "data/formats.h"

namespace paddle {
namespace {

using Cells = std::vector<std::string_view>;

std::string_view trimmed(std::string_view s) {
  const size_t begin = s.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return s.substr(begin, s.find_last_not_of(" \t") - begin + 1);
}

// The cell that `line` starts with, taken off together with the separator behind it; `last` where
// none followed.
std::string_view take_cell(std::string_view& line, char separator, bool& last,
                           const LineReader& at) {
  size_t end = 0;
  std::string_view cell;
  if (line.starts_with('"')) {
    size_t close = line.find('"', 1);
    while (close != std::string_view::npos && line.substr(close + 1).starts_with('"'))
      close = line.find('"', close + 2);
    if (close == std::string_view::npos)
      at.fail("a closing quote", quoted(line), "close the quote on the same line");
    cell = line.substr(1, close - 1);
    end = close + 1;
    if (end < line.size() && line[end] != separator)
      at.fail("a separator after the closing quote", quoted(line.substr(end)),
              "quote the whole column or none of it");
  } else {
    end = std::min(line.find(separator), line.size());
    cell = trimmed(line.substr(0, end));
  }
  last = end >= line.size();
  line.remove_prefix(last ? line.size() : end + 1);
  return cell;
}

void split(std::string_view line, char separator, Cells& cells, const LineReader& at) {
  cells.clear();
  if (separator == ' ') {
    for (std::string_view w = next_word(line); !w.empty(); w = next_word(line)) cells.push_back(w);
    return;
  }
  for (bool last = false; !last;) cells.push_back(take_cell(line, separator, last, at));
}

// Numbers of the columns that one word of CsvField::columns stands for.
std::vector<size_t> columns_of(const std::string& word, const std::vector<std::string>& header,
                               size_t width, const LineReader& at) {
  for (size_t i = 0; i < header.size(); ++i)
    if (header[i] == word) return {i};
  const size_t dash = word.find('-');
  int64_t first = 0, end = 0;
  const bool number =
      parse_int(word.substr(0, dash), first) &&
      (dash == std::string::npos ? (end = first, true) : parse_int(word.substr(dash + 1), end));
  require(number, Error::Kind::config, at.path(), ": there is no column '", word, "'",
          header.empty() ? "; without a header, columns go by number from 0"
                         : did_you_mean(word, header));
  require(first >= 0 && first <= end && end < static_cast<int64_t>(width), Error::Kind::config,
          at.path(), ": the columns '", word, "' are not among the ", width, " of the file (0 to ",
          width - 1, ")");
  std::vector<size_t> out;
  for (int64_t i = first; i <= end; ++i) out.push_back(static_cast<size_t>(i));
  return out;
}

class CsvParser {
 public:
  explicit CsvParser(const ReaderSpec& spec) : spec_(spec) {}

  void read(const std::string& file) {
    LineReader lines(file);
    Cells cells;
    bool first = true;
    const int64_t before = to_ ? to_->size() : 0;
    for (std::string_view line; lines.next(line);) {
      if (trimmed(line).empty()) continue;
      split(line, spec_.separator, cells, lines);
      if (std::exchange(first, false)) {
        start(cells, lines);
        if (spec_.header) continue;
      }
      if (cells.size() != width_)
        lines.fail(text(width_, " columns, as in the first line"), text(cells.size()),
                   "complete the row or check the separator");
      add_row(cells, lines);
    }
    require_records((to_ ? to_->size() : 0) - before, file);
  }
  std::unique_ptr<Columns> take() { return std::move(to_); }

 private:
  // The first line of each file: all files have the columns of the first file.
  void start(const Cells& cells, const LineReader& at) {
    std::vector<std::string> header;
    if (spec_.header) header.assign(cells.begin(), cells.end());
    if (to_) {
      if (header != header_ || cells.size() != width_)
        at.fail("the same columns as in the first file", "others", "read unlike files one by one");
      return;
    }
    header_ = header;
    width_ = cells.size();
    fields_ = spec_.csv_fields.empty() ? default_fields(at) : spec_.csv_fields;
    std::vector<FieldSpec> specs;
    for (const CsvField& field : fields_) {
      std::vector<size_t> columns;
      for (const std::string& word : field.columns)
        for (const size_t c : columns_of(word, header_, width_, at)) columns.push_back(c);
      const Shape shape{static_cast<int64_t>(columns.size())};
      specs.push_back(
          {field.name, field.dtype, shape, 0, field.hash > 0 ? field.hash : field.bound});
      columns_.push_back(std::move(columns));
    }
    rename_fields(specs, spec_);
    to_ = std::make_unique<Columns>(std::move(specs), spec_.memory_limit);
  }

  std::vector<CsvField> default_fields(const LineReader& at) const {
    if (width_ < 2)
      at.fail("at least 2 columns", text(width_), "check the separator or name the fields");
    return {{"x", DType::f32, {text("0-", width_ - 2)}}, {"y", DType::f32, {text(width_ - 1)}}};
  }

  void add_row(const Cells& cells, const LineReader& at) {
    for (size_t f = 0; f < fields_.size(); ++f)
      for (const size_t c : columns_[f]) add_cell(f, c, cells[c], at);
    to_->end_record(at.path());
  }

  void add_cell(size_t f, size_t column, std::string_view cell, const LineReader& at) {
    const CsvField& field = fields_[f];
    const auto where = [&] { return text(" in column ", column, " (field ", field.name, ")"); };
    if (field.hash > 0) {
      const uint64_t h = hash_text(cell) ^ mix64(column);
      return to_->add(f, static_cast<int64_t>(mix64(h) % static_cast<uint64_t>(field.hash)));
    }
    if (cell.empty() && !spec_.missing) at.fail("a number" + where(), "nothing", "set missing");
    if (field.dtype == DType::f32) {
      float value = static_cast<float>(spec_.missing.value_or(0));
      if (!cell.empty() && !parse_float(cell, value))
        at.fail("a finite number" + where(), quoted(cell), "correct or remove the row");
      return to_->add(f, value);
    }
    int64_t value = static_cast<int64_t>(spec_.missing.value_or(0));
    if (!cell.empty() && !parse_int(cell, value))
      at.fail("a whole number" + where(), quoted(cell),
              "correct the row, or read the column as float32 or hashed");
    if (field.bound >= 0 && (value < 0 || value >= field.bound))
      at.fail(text("a number from 0 to ", field.bound - 1, where()), text(value),
              "correct the row or the bound of the field");
    to_->add(f, value);
  }

  const ReaderSpec& spec_;
  std::vector<CsvField> fields_;
  std::vector<std::vector<size_t>> columns_;  // of each field
  std::vector<std::string> header_;
  size_t width_ = 0;
  std::unique_ptr<Columns> to_;
};

void check(const ReaderSpec& spec) {
  const auto config = Error::Kind::config;
  require(!spec.files.empty(), config, "csv: no files are named");
  for (const CsvField& field : spec.csv_fields) {
    require(field.dtype == DType::f32 || field.dtype == DType::i64, config, "csv: field ",
            field.name, " is ", name_of(field.dtype), ", expected float32 or int64");
    require(field.hash == 0 || field.dtype == DType::i64, config, "csv: field ", field.name,
            " is hashed, so its type must be int64");
    require(!field.columns.empty(), config, "csv: field ", field.name, " names no columns");
  }
}

}  // namespace

std::unique_ptr<Reader> open_csv(const ReaderSpec& spec) {
  check(spec);
  const std::vector<std::string> files = resolve_files(spec.files, "", spec);
  CsvParser parser(spec);
  for (const std::string& file : files) parser.read(file);
  auto columns = parser.take();
  std::string source = text("csv: ", source_of_files(columns->size(), files));
  return read_records(std::move(columns), spec, std::move(source));
}

}  // namespace paddle
