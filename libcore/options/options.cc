#include "options/options.h"

#include <algorithm>
#include <boost/program_options.hpp>
#include <cctype>
#include <sstream>
#include <stdexcept>

#include "base/error.h"
#include "base/suggest.h"
#include "options/command_line.h"
#include "options/tables.h"

namespace paddle {
namespace {

const std::string prefix = "PADDLE_INIT_";

std::string upper(std::string word) {
  for (char& c : word) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return word;
}

std::string lower(std::string word) {
  for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return word;
}

std::string without_trailing_blanks(const std::string& lines) {
  std::string out;
  for (const char c : lines) {
    if (c == '\n') out.erase(out.find_last_not_of(' ') + 1);
    out += c;
  }
  return out;
}

// PADDLE_TRAINERS is a number in PaddlePaddle's guides and the list of the trainers' hosts in the
// environment of its Kubernetes operators: a list counts as its length.
std::string trainers_of(const std::string& value) {
  if (value.find_first_of(",.:-") == std::string::npos) return value;  // a number, or a mistake
  size_t hosts = 0;
  bool blank = true;
  for (const char c : value + ",") {
    if (c == ',') hosts += blank ? 0 : 1;
    blank = c == ',' || (blank && c == ' ');
  }
  return std::to_string(hosts);
}

}  // namespace

std::string problem_list(std::span<const std::string> problems) {
  if (problems.size() == 1) return problems[0];
  std::string all = text(problems.size(), " problems:");
  for (const std::string& problem : problems) all += "\n  " + problem;
  return all;
}

Options::Options(OptionTable table) : table_(std::move(table)) {
  for (const Option& option : table_) {
    if (const std::string problem = problem_with(option, option.default_value); !problem.empty())
      throw std::logic_error("default of option " + option.name + " " + problem);
    values_[option.name].value = option.default_value;
  }
}

Options Options::parse(std::span<const std::string> arguments, const Environment& environment,
                       OptionTable table) {
  Options options(std::move(table));
  CommandLine line = read_command_line(arguments, options.table_);
  std::vector<std::string> problems = std::move(line.problems);
  for (const GivenFlag& flag : line.flags) {
    const std::string problem =
        options.set(*options.row(flag.name), flag.value, flag.source, Rank::by_flag);
    if (!problem.empty()) problems.push_back(problem);
  }
  const std::vector<std::string> more = options.read_environment(environment);
  problems.insert(problems.end(), more.begin(), more.end());
  const bool asks_for_help = options.row("help") != nullptr && options.flag("help");
  if (!problems.empty() && !asks_for_help) throw Error(Error::Kind::config, problem_list(problems));
  return options;
}

std::vector<std::string> Options::read_environment(const Environment& environment) {
  std::vector<std::string> problems;
  const auto take = [&](const Option& option, const std::string& name, const std::string& value) {
    if (values_[option.name].rank == Rank::by_environment) return;  // an earlier name of it
    const std::string problem =
        set(option, value, "environment variable " + name, Rank::by_environment);
    if (!problem.empty()) problems.push_back(problem);
  };
  for (const auto& [name, value] : environment) {
    if (name.compare(0, prefix.size(), prefix) != 0) continue;
    const std::string rest = upper(name).substr(prefix.size());
    const auto found = std::find_if(table_.begin(), table_.end(), [&](const Option& option) {
      return upper(option.name) == rest;
    });
    if (found != table_.end()) {
      take(*found, name, value);
      continue;
    }
    if (!program_with(lower(rest)).empty()) continue;
    std::vector<std::string> known;
    for (const Option& option : table_) known.push_back(prefix + upper(option.name));
    problems.push_back("unknown environment variable " + name + did_you_mean(name, known) +
                       "; unset it or correct its name");
  }
  for (const Option& option : table_)
    for (const std::string& name : option.environment)
      if (const auto found = environment.find(name);
          found != environment.end() && !found->second.empty())
        take(option, name, name == "PADDLE_TRAINERS" ? trainers_of(found->second) : found->second);
  return problems;
}

std::string Options::set(const Option& option, const std::string& value, const std::string& source,
                         Rank rank) {
  // A value that another one overrides is checked all the same: it would be used once the other is
  // gone.
  if (const std::string problem = problem_with(option, value); !problem.empty())
    return option.name + " " + problem + " (" + source + ")";
  Value& now = values_[option.name];
  if (rank >= now.rank) now = {value, source, rank};
  return "";
}

std::string Options::set_from_file(const std::string& key, const std::string& value,
                                   const std::string& where) {
  const Option* option = row(key);
  if (option == nullptr || !option->in_job_file) {
    std::vector<std::string> known;
    for (const Option& other : table_)
      if (other.in_job_file) known.push_back(other.name);
    return paddle::text(option == nullptr ? "unknown option '" : "a job file cannot set '", key,
                        "'", did_you_mean(key, known));
  }
  if (const std::string problem = problem_with(*option, value); !problem.empty())
    return option->name + " " + problem;
  return set(*option, value, where, Rank::by_file);
}

const Option* Options::row(const std::string& name) const {
  for (const Option& option : table_)
    if (option.name == name ||
        std::find(option.aliases.begin(), option.aliases.end(), name) != option.aliases.end())
      return &option;
  return nullptr;
}

const Options::Value& Options::value_of(const std::string& name, OptionType type) const {
  const Option* option = row(name);
  if (option == nullptr || option->type != type)
    throw std::logic_error("no option '" + name + "' of the asked type in the table");
  return values_.at(option->name);
}

bool Options::flag(const std::string& name) const {
  return parse_flag(value_of(name, OptionType::flag).value).value;
}
bool Options::says(const std::string& name, const std::string& word) const {
  return value_of(name, OptionType::flag).value == word;
}
int64_t Options::integer(const std::string& name) const {
  return std::stoll(value_of(name, OptionType::integer).value);
}
double Options::real(const std::string& name) const {
  return std::stod(value_of(name, OptionType::real).value);
}
const std::string& Options::text(const std::string& name) const {
  return value_of(name, OptionType::text).value;
}

bool Options::given(const std::string& name) const {
  return values_.at(name).rank != Rank::by_default;
}
const std::string& Options::source(const std::string& name) const {
  return values_.at(name).source;
}

std::string Options::help(const std::string& usage) const {
  namespace po = boost::program_options;
  constexpr unsigned columns = 79, description_columns = 45;
  std::vector<std::string> groups;
  for (const Option& option : table_)
    if (std::find(groups.begin(), groups.end(), option.group) == groups.end())
      groups.push_back(option.group);
  po::options_description all(columns, description_columns);
  for (const std::string& group : groups) {
    po::options_description rows(group, columns, description_columns);
    for (const Option& option : table_) {
      if (option.group != group) continue;
      std::string help = option.help + ".";
      for (const std::string& alias : option.aliases) help += " Also --" + alias + ".";
      help += " [" + prefix + upper(option.name);
      for (const std::string& name : option.environment) help += ", " + name;
      help += "]";
      const std::string value = option.default_value.empty() ? "\"\"" : option.default_value;
      rows.add_options()((option.name + "=" + value).c_str(), help.c_str());
    }
    all.add(rows);
  }
  std::ostringstream out;
  out << usage << "\n"
      << all << R"(
Flags win over environment variables [in brackets], those over the job file,
that over the default shown after =. A flag that is true or false is also
written --name or --noname; --flagfile=FILE reads flags from a file, one per
line.
)";
  return without_trailing_blanks(out.str());
}

std::vector<Options::Setting> Options::settings() const {
  std::vector<Setting> out;
  for (const Option& option : table_) {
    const Value& value = values_.at(option.name);
    out.push_back({option.name, value.value, value.source, value.rank != Rank::by_default});
  }
  return out;
}

std::string Options::print() const {
  std::string out;
  for (const Setting& s : settings()) {
    const std::string line = s.name + "=" + s.value;
    out +=
        line + std::string(line.size() < 40 ? 40 - line.size() : 1, ' ') + "# " + s.source + "\n";
  }
  return out;
}

}  // namespace paddle
