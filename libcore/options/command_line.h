// From words to flags: the syntax of the command line and of flag files, without their meaning.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "options/option.h"

namespace paddle {

struct GivenFlag {
  std::string name;    // as in the table, aliases resolved
  std::string value;   // "true" or "false" for --flag and --noflag
  std::string source;  // "flag --name", with the file and line where it stands in one
};

struct CommandLine {
  std::vector<GivenFlag> flags;       // in their order
  std::vector<std::string> problems;  // sentences
};

CommandLine read_command_line(std::span<const std::string> arguments, const OptionTable& table);

}  // namespace paddle
