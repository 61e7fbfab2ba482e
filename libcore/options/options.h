// The values of all options of one program: flag over environment over job file over default.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "options/environment.h"
#include "options/option.h"

namespace paddle {

// One problem as it is; several under "3 problems:", one per line.
std::string problem_list(std::span<const std::string> problems);

class Options {
 public:
  // `arguments` are those after the program's name. Flags are written --name=value, --name value,
  // -name, --flag,
  // --noflag; --flagfile FILE inserts the flags in FILE, one per line, where it stands; the last of
  // several wins. Throws one Error(config) that lists every problem of flags and environment; not
  // so where help is asked for. PADDLE_INIT_ variables of other programs are left alone.
  static Options parse(std::span<const std::string> arguments, const Environment& environment,
                       OptionTable table);

  // Sets a value the job file gives, unless a flag or variable gave one. `where` is "file:line".
  // Returns what is wrong with key or value, as a sentence without its place, or "".
  [[nodiscard]] std::string set_from_file(const std::string& key, const std::string& value,
                                          const std::string& where);

  // Puts a value the program worked out (a seed from the clock) in the place of the given one.
  void replace(const std::string& name, std::string value, std::string source) {
    values_.at(name) = {std::move(value), std::move(source), Rank::by_flag};
  }

  // Values by type. A name that is not in the table, or has another type, is a fault of the caller:
  // std::logic_error.
  bool flag(const std::string& name) const;
  // Whether a flag has this of its other words (Option::words).
  bool says(const std::string& name, const std::string& word) const;
  int64_t integer(const std::string& name) const;
  double real(const std::string& name) const;
  const std::string& text(const std::string& name) const;

  bool has(const std::string& name) const { return row(name) != nullptr; }
  bool given(const std::string& name) const;  // by anything but the default
  // "flag --x", "environment variable X", "job.json:12" or "default".
  const std::string& source(const std::string& name) const;

  struct Setting {
    std::string name, value, source;
    bool given = false;
  };
  std::vector<Setting> settings() const;  // all, in the table's order

  // --help: grouped rows with defaults, other names and variables. `usage` is its first line.
  std::string help(const std::string& usage) const;
  // --print_config: `name=value  # source`, one per line, in the table's order.
  std::string print() const;

 private:
  enum class Rank { by_default, by_file, by_environment, by_flag };
  struct Value {
    std::string value, source = "default";
    Rank rank = Rank::by_default;
  };

  explicit Options(OptionTable table);
  const Option* row(const std::string& name) const;  // by name or alias
  const Value& value_of(const std::string& name, OptionType type) const;
  std::string set(const Option& option, const std::string& value, const std::string& source,
                  Rank rank);
  std::vector<std::string> read_environment(const Environment& environment);

  OptionTable table_;
  std::map<std::string, Value> values_;
};

}  // namespace paddle
