#include "paddle/flags.h"

#include <algorithm>

#include "options/tables.h"

namespace paddle {
namespace {

bool has(const OptionTable& table, const std::string& name) {
  return std::any_of(table.begin(), table.end(),
                     [&](const Option& option) { return option.name == name; });
}

}  // namespace

OptionTable with_daemon_options(OptionTable first) {
  for (const OptionTable& table : {trainer_options(), pserver_options()})
    for (const Option& option : table)
      if (!has(first, option.name)) first.push_back(option);
  return first;
}

std::vector<std::string> flags_for(const OptionTable& table, std::span<const GivenFlag> given) {
  std::vector<std::string> flags;
  for (const GivenFlag& flag : given)
    if (has(table, flag.name)) flags.push_back("--" + flag.name + "=" + flag.value);
  return flags;
}

void drop_flag(std::vector<std::string>& flags, const std::string& name) {
  const std::string start = "--" + name + "=";
  std::erase_if(flags,
                [&](const std::string& flag) { return flag.compare(0, start.size(), start) == 0; });
}

}  // namespace paddle
