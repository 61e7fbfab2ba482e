#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <unordered_set>

#include "base/error.h"
#include "base/run_main.h"
#include "paddle/table_commands.h"
#include "table/part.h"
#include "trainer/fluid_tables.h"

namespace paddle {
namespace {

const char* const line_form = "each line is an id and the values of its row, separated by blanks";

std::string without(const std::string& head, const std::string& key_begin) {
  std::string out;
  for (size_t at = 0; at < head.size();) {
    const size_t end = std::min(head.find('\n', at), head.size());
    if (head.compare(at, key_begin.size(), key_begin) != 0) out += head.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return out;
}

std::string value_of(const std::string& head, const std::string& key) {
  for (size_t at = 0; at < head.size();) {
    const size_t end = std::min(head.find('\n', at), head.size());
    const std::string line = head.substr(at, end - at);
    if (line.starts_with(key + " ")) return line.substr(key.size() + 1);
    at = end + 1;
  }
  return "";
}

std::string with(const std::string& head, const std::string& key, const std::string& value) {
  return without(head, key + " ") + key + " " + value + "\n";
}

// The lines with # at the beginning of a text.
struct Preface {
  std::string head;
  bool states = false;  // columns id step count values state
};

// The description of the table: that of the text or of another table, with what the user gave.
std::string head_of_import(const Preface& preface, const ImportWords& words, int64_t width) {
  std::string head = words.head.empty() ? preface.head : words.head;
  if (head.empty()) head = "version 0\nrule sgd\n";
  if (words.head.size() + preface.head.size() == 0) head = with(head, "width", text(width));
  if (!words.name.empty()) head = with(head, "param", words.name);
  if (!words.rule.empty() && words.rule != value_of(head, "rule"))
    head = with(without(head, "set."), "rule", words.rule);
  return head;
}

// Rows as parts of a dump, which the table then reads.
class Rows {
 public:
  Rows(TableStore& store, const std::string& name, bool states)
      : kept_(*store.find(name)),
        states_(states),
        writer_(part_format(kept_.table->options())),
        values_(static_cast<size_t>(kept_.spec.width)) {
    const TableOptions& o = kept_.table->options();
    first_state_ = RowUpdate(o.rule, o.settings, o.l2, o.width).first_state();
    writer_.begin(part_, next_part_);
  }

  void add(std::string_view line, const LineReader& at) {
    const std::string_view whole = line;
    RowHead head{.id = id(next_word(line), at), .step = 1, .count = 0, .flags = 0};
    if (states_) {
      head.step = static_cast<uint32_t>(1 + count(next_word(line), "step", 0xfffffff0u - 1, at));
      head.count = static_cast<uint16_t>(count(next_word(line), "number of updates", 65535, at));
    }
    clock_ = std::max(clock_, head.step);
    std::vector<float> state = first_state_;
    read(values_, "values", line, whole, at);
    if (states_) read(state, "numbers of state", line, whole, at);
    if (const std::string_view more = next_word(line); !more.empty())
      at.fail(text(values_.size(), " values", states_ ? " and the state" : "", " behind the id"),
              text("more, from ", quoted(more), " on"), line_form);
    writer_.add(head, values_.data(), state);
    if (writer_.full()) load(false);
  }

  // A row without state, of a file without lines.
  void add(int64_t id, const float* values, const std::string& file) {
    const auto number = static_cast<uint64_t>(id);
    const int64_t height = kept_.spec.height;
    require(height < 0 || id < height, Error::Kind::data, file, " has the id ", id,
            ", and the table has the height ", height, ": make a table of another height");
    require(in_part_.insert(number).second && !kept_.table->find(number), Error::Kind::data, file,
            " has the id ", id, ", which came before: every id comes once");
    const int64_t n = kept_.spec.width;
    for (int64_t j = 0; j < n; ++j)
      require(std::isfinite(values[j]), Error::Kind::data, file, ", the row of the id ", id,
              ": expected finite numbers, found ", values[j]);
    writer_.add({.id = number, .step = 1, .count = 0, .flags = 0}, values, first_state_);
    if (writer_.full()) load(false);
  }

  // After the last row. The next update of the table comes after those of its rows.
  void finish() {
    load(true);
    kept_.version = std::max<uint64_t>(kept_.version, clock_);
  }

 private:
  uint64_t id(std::string_view word, const LineReader& at) {
    uint64_t id = 0;
    int64_t negative = 0;
    const auto [end, bad] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (bad != std::errc() || end != word.data() + word.size()) {
      if (!parse_int(word, negative))
        at.fail("an id, which is a whole number of 64 bits", quoted(word), line_form);
      id = static_cast<uint64_t>(negative);
    }
    const int64_t height = kept_.spec.height;
    if (height >= 0 && id >= static_cast<uint64_t>(height))
      at.fail(text("an id below ", height, ", the height of the table"), quoted(word),
              "leave the row out, or make a table of another height");
    if (!in_part_.insert(id).second || kept_.table->find(id))
      at.fail("every id once", text("the id ", id, " for the second time"), "remove one of them");
    return id;
  }

  static uint64_t count(std::string_view word, const char* what, uint64_t most,
                        const LineReader& at) {
    int64_t n = 0;
    if (!parse_int(word, n) || n < 0 || static_cast<uint64_t>(n) > most)
      at.fail(text("a ", what, " from 0 to ", most), quoted(word),
              "the columns are id, step, number of updates, values, state");
    return static_cast<uint64_t>(n);
  }

  static void read(std::vector<float>& to, const char* what, std::string_view& line,
                   std::string_view whole, const LineReader& at) {
    for (size_t j = 0; j < to.size(); ++j) {
      const std::string_view word = next_word(line);
      if (word.empty())
        at.fail(text(to.size(), " ", what), text(j, " in ", quoted(whole)), line_form);
      if (!parse_float(word, to[j])) at.fail("a finite number", quoted(word), line_form);
    }
  }

  void load(bool last) {
    writer_.end(clock_, 0, last);
    kept_.table->load_part(part_);
    in_part_.clear();
    if (!last) writer_.begin(part_, ++next_part_);
    require(stop_signal() == 0, Error::Kind::io, "stopped by a signal; nothing was written");
  }

  TableStore::Kept& kept_;
  bool states_;
  PartWriter writer_;
  std::vector<float> values_, first_state_;
  std::vector<std::byte> part_;
  std::unordered_set<uint64_t> in_part_;
  uint32_t clock_ = 1, next_part_ = 0;
};

// A line with # in front of the rows.
void read_preface(std::string_view line, const LineReader& at, Preface& preface) {
  line.remove_prefix(1);
  while (line.starts_with(' ')) line.remove_prefix(1);
  if (line.starts_with("columns ")) {
    const std::string_view columns = line.substr(8);
    preface.states = columns == "id step count values state";
    if (!preface.states && columns != "id values")
      at.fail("the columns \"id values\" or \"id step count values state\"", quoted(columns),
              "export the table again");
  } else if (line != "paddle table 1") {
    preface.head += std::string(line) + "\n";
  }
}

int64_t words_in(std::string_view line) {
  int64_t n = 0;
  while (!next_word(line).empty()) ++n;
  return n;
}

}  // namespace

TableStore import_selected_rows(const std::vector<std::string>& files, const ImportWords& words) {
  TableStore store;
  std::optional<Rows> rows;
  int64_t width = 0;
  for (const std::string& file : files) {
    const SelectedRows part = read_fluid_stream(file, rows ? width : -1);
    if (!rows) {
      std::string head = head_of_import({}, words, part.value.shape()[1]);
      if (words.head.empty()) head = with(head, "height", text(part.height));
      const TableHead made = table_head_of(head, file);
      store.begin(made);
      width = made.spec.width;
      rows.emplace(store, made.spec.param, false);
    }
    require(part.value.shape()[1] == width, Error::Kind::data, file, " has rows of ",
            part.value.shape()[1], " values, and the table has ", width);
    for (size_t i = 0; i < part.rows.size(); ++i)
      rows->add(part.rows[i], part.value.data<float>() + static_cast<int64_t>(i) * width, file);
  }
  rows->finish();
  return store;
}

TableStore import_table(LineReader& lines, const ImportWords& words) {
  TableStore store;
  Preface preface;
  std::optional<Rows> rows;
  bool described = false;  // the text begins with what export_text() writes; else # is a comment
  for (std::string_view line; lines.next(line);) {
    if (line.starts_with('#')) {
      described |= lines.number() == 1 && line == "# paddle table 1";
      if (described && !rows) read_preface(line, lines, preface);
      continue;
    }
    if (std::string_view rest = line; next_word(rest).empty()) continue;
    if (!rows) {
      const TableHead head =
          table_head_of(head_of_import(preface, words, words_in(line) - 1), lines.path());
      const std::string& name = head.spec.param;
      require(!name.empty(), Error::Kind::config, "the table needs a name: give --name");
      store.begin(head);
      const std::string rule = value_of(preface.head, "rule");
      require(!preface.states || rule.empty() || head.spec.rule == rule, Error::Kind::config,
              lines.path(), " has the state of the optimizer '", rule, "', which '", head.spec.rule,
              "' cannot use: export the rows without --state");
      rows.emplace(store, name, preface.states);
    }
    rows->add(line, lines);
  }
  require(rows.has_value(), Error::Kind::data, lines.path(), " has no rows: ", line_form);
  rows->finish();
  return store;
}

}  // namespace paddle
