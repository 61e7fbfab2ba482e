// A program of several commands: `paddle train ...`, `paddle version`.
#pragma once

#include <functional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "options/option.h"

namespace paddle {

struct Command {
  std::string name;
  std::string help;  // one line of the usage text
  // Gets the words after the command's name and returns the exit code. Errors it throws become
  // sentences that start with "<program> <name>: ".
  std::function<int(std::span<const std::string>)> run;
  std::function<OptionTable()> options = nullptr;  // that it takes; null: none
};

// "usage: paddle [--help] [<args>]" and one line per command.
std::string usage(const std::string& program, std::span<const Command> commands);

// Runs the command that arguments[0] names and returns the exit code of the process. No argument,
// `help`, --help and -h print the usage text to `out`; `help <command>` is `<command> --help`,
// --version is the command `version`; an unknown word prints it to `err` with the nearest name and
// returns 2. A command `help` that can be run gets the words after it where they name no command.
int run_command(const std::string& program, std::span<const Command> commands,
                std::span<const std::string> arguments, std::ostream& out, std::ostream& err);

}  // namespace paddle
