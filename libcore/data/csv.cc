// CSV: columns of a text file to fields. A column in double quotes may hold the separator, not the
// end of a line.
#include <utility>

#include "base/random.h"
#include "base/suggest.h"
#include "data/byte_source.h"
#include "data/datasets.h"
#include "data/formats.h"
#include "data/line_format.h"

namespace paddle {
namespace {

// A field: its columns by number from 0 ("4"), by range ("1-13") or, with a header, by name.
struct CsvField {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::string> columns;
  int64_t hash = 0;
  int64_t bound = -1;

  void declare(Arguments& a) {
    a.required("name", name, "of the field");
    a.optional("dtype", dtype, "float32 or int64");
    a.optional("columns", columns, "by number from 0 (4), by range (1-13), with a header by name");
    a.optional("hash", hash, "> 0: any text, hashed with its column into [0, hash); needs int64");
    a.optional("bound", bound, "numbers lie in [0, bound); -1 = anything");
    if (bound == 0) bound = -1;
  }
};

struct CsvKeys {
  std::vector<CsvField> fields;
  char separator = ',';
  bool header = false;
  std::optional<double> missing;

  void declare(Arguments& a) {
    std::string between = ",";
    a.optional("csv_fields", fields,
               "without it x, all columns but the last, and y, the last, float32");
    a.optional("separator", between, "one character: \\t is a tab, a blank any run of blanks");
    a.optional("header", header, "the first line names the columns");
    a.optional("missing", missing, "stands for an empty column; without it that is an error");
    if (between == "\\t") between = "\t";
    if (between.size() == 1)
      separator = between[0];
    else
      a.problem("separator", text("'separator' must be one character, found '", between, "'"));
  }
};

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

class CsvFormat : public LineFormat {
 public:
  CsvFormat(const ReaderSpec& spec, const CsvKeys& keys) : spec_(spec), keys_(keys) {}

  const std::vector<FieldSpec>& fields() const override { return specs_; }

  // Looks at the first line, which has the columns. All files have those of the first.
  void begin_file(const std::string& path) override {
    LineReader lines(path);
    std::string_view line;
    do {
      require_records(lines.next(line), path);
    } while (trimmed(line).empty());
    split(line, keys_.separator, cells_, lines);
    header_left_ = keys_.header;
    std::vector<std::string> header;
    if (keys_.header) header.assign(cells_.begin(), cells_.end());
    if (width_ == 0) return start(std::move(header), lines);
    if (header != header_ || cells_.size() != width_)
      lines.fail("the same columns as in the first file", "others", "read unlike files one by one");
  }
  bool is_record(std::string_view line) override {
    return !trimmed(line).empty() && !std::exchange(header_left_, false);
  }
  void parse(std::string_view line, const LineReader& at, Columns& to) override {
    split(line, keys_.separator, cells_, at);
    if (cells_.size() != width_)
      at.fail(text(width_, " columns, as in the first line"), text(cells_.size()),
              "complete the row or check the separator");
    for (size_t f = 0; f < fields_.size(); ++f)
      for (const size_t c : columns_[f]) add_cell(f, c, at, to);
  }

 private:
  void start(std::vector<std::string> header, const LineReader& at) {
    header_ = std::move(header);
    width_ = cells_.size();
    fields_ = keys_.fields.empty() ? default_fields(at) : keys_.fields;
    for (const CsvField& field : fields_) {
      std::vector<size_t> columns;
      for (const std::string& word : field.columns)
        for (const size_t c : columns_of(word, header_, width_, at)) columns.push_back(c);
      const Shape shape{static_cast<int64_t>(columns.size())};
      specs_.push_back(
          {field.name, field.dtype, shape, 0, field.hash > 0 ? field.hash : field.bound});
      columns_.push_back(std::move(columns));
    }
    rename_fields(specs_, spec_);
  }

  std::vector<CsvField> default_fields(const LineReader& at) const {
    if (width_ < 2)
      at.fail("at least 2 columns", text(width_), "check the separator or name the fields");
    return {{"x", DType::f32, {text("0-", width_ - 2)}}, {"y", DType::f32, {text(width_ - 1)}}};
  }

  void add_cell(size_t f, size_t column, const LineReader& at, Columns& to) const {
    const std::string_view cell = cells_[column];
    const CsvField& field = fields_[f];
    const auto where = [&] { return text(" in column ", column, " (field ", field.name, ")"); };
    if (field.hash > 0) {
      const uint64_t h = hash_text(cell) ^ mix64(column);
      return to.add(f, static_cast<int64_t>(mix64(h) % static_cast<uint64_t>(field.hash)));
    }
    if (cell.empty() && !keys_.missing)
      at.fail("a number" + where(), "nothing", "complete the row or set missing");
    if (field.dtype == DType::f32) {
      float value = static_cast<float>(keys_.missing.value_or(0));
      if (!cell.empty() && !parse_float(cell, value))
        at.fail("a finite number" + where(), quoted(cell), "correct or remove the row");
      return to.add(f, value);
    }
    int64_t value = static_cast<int64_t>(keys_.missing.value_or(0));
    if (!cell.empty() && !parse_int(cell, value))
      at.fail("a whole number" + where(), quoted(cell),
              "correct the row, or read the column as float32 or hashed");
    if (field.bound >= 0 && (value < 0 || value >= field.bound))
      at.fail(text("a number from 0 to ", field.bound - 1, where()), text(value),
              "correct the row or the bound of the field");
    to.add(f, value);
  }

  const ReaderSpec spec_;
  const CsvKeys keys_;
  std::vector<CsvField> fields_;
  std::vector<FieldSpec> specs_;
  std::vector<std::vector<size_t>> columns_;  // of each field
  std::vector<std::string> header_;
  bool header_left_ = false;  // the header of this file is still to come
  size_t width_ = 0;
  Cells cells_;
};

void check_columns(const ReaderSpec& spec, const CsvKeys& keys) {
  const auto config = Error::Kind::config;
  require(!spec.files.empty(), config, "csv: no files are named");
  for (const CsvField& field : keys.fields) {
    require(field.dtype == DType::f32 || field.dtype == DType::i64, config, "csv: field ",
            field.name, " is ", name_of(field.dtype), ", expected float32 or int64");
    require(field.hash == 0 || (field.hash > 0 && field.dtype == DType::i64), config, "csv: field ",
            field.name, " is hashed, so its type must be int64 and hash positive");
    require(!field.columns.empty(), config, "csv: field ", field.name, " names no columns");
  }
}

std::unique_ptr<Reader> open_csv(const ReaderSpec& spec, const CsvKeys& keys) {
  check_columns(spec, keys);
  const std::vector<std::string> files = resolve_files(spec.files, "", spec);
  return read_lines(std::make_unique<CsvFormat>(spec, keys), "csv", {files}, spec);
}

OpenReader declare_csv(Arguments& a) {
  CsvKeys keys;
  keys.declare(a);
  return [keys](const ReaderSpec& spec) { return open_csv(spec, keys); };
}

}  // namespace

DataFormat csv_format() {
  return {"csv", "columns of numbers or text, one record per line", declare_csv};
}

}  // namespace paddle
