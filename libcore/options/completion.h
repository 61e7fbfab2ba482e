// What a shell needs to complete the words of a program of several commands, printed from the
// tables of commands and options.
#pragma once

#include <span>
#include <string>

#include "options/commands.h"

namespace paddle {

// For "bash", "zsh" or "fish"; throws Error(config) for another one.
std::string completion_script(const std::string& shell, const std::string& program,
                              std::span<const Command> commands);

}  // namespace paddle
