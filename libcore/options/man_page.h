// Manual pages (man(7)), printed from the tables of commands and options.
#pragma once

#include <span>
#include <string>

#include "options/commands.h"

namespace paddle {

// The page of the program itself: paddle(1), with its commands.
std::string man_page(const std::string& program, std::span<const Command> commands,
                     const std::string& version);

// The page of a command: paddle-status(1). `help` is what its --help prints; its beginning, up to
// the first group of options, has the ways to call it and what it does.
std::string man_page(const std::string& program, const Command& command, const std::string& help,
                     const std::string& version);

}  // namespace paddle
