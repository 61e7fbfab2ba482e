// One row of the option table. A name here is a flag (--name), an environment variable
// (PADDLE_INIT_NAME) and a key of the job file at once; parsing, --help, --print_config and the
// docs come from the rows.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace paddle {

enum class OptionType { flag, integer, real, text };

// "" for a value it accepts, else what is asked for: "must be at least 1". Called with values of
// the right type only.
using OptionCheck = std::function<std::string(const std::string& value)>;

struct Option {
  std::string name;
  OptionType type = OptionType::text;
  std::string default_value;
  std::string help;   // what it does, without a full stop
  std::string group;  // a heading of --help
  OptionCheck check = nullptr;
  std::vector<std::string> aliases = {};  // other flag names
  std::vector<std::string> environment =
      {};  // other variables, in order of precedence after PADDLE_INIT_NAME
  bool in_job_file = true;
  std::vector<std::string> words = {};  // of a flag: other values, as "auto"
};

using OptionTable = std::vector<Option>;

OptionCheck at_least(double low);
OptionCheck between(double low, double high);
inline constexpr double most = 2147483647;  // the highest value of an option that counts
OptionCheck above(double low);
OptionCheck amount_of_memory();  // "64m", "75%"
OptionCheck zero_or(OptionCheck check);
OptionCheck one_of(std::vector<std::string> words);

// True, false and their short forms in any case; throws nothing: `ok` is the result.
struct ParsedFlag {
  bool ok = false, value = false;
};
ParsedFlag parse_flag(const std::string& word);

// What is wrong with `value` for this row, "" if nothing: "must be a whole number, not 'x'".
std::string problem_with(const Option& option, const std::string& value);

}  // namespace paddle
