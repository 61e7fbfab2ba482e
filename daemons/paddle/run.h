// paddle run: the role of this process by environment variables, as cluster managers set them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "options/environment.h"

namespace paddle {

// The command line that the role comes to: {"trainer", "--config=…", …} or {"pserver", …}; empty
// where help was asked for and answered. Throws Error(config).
std::vector<std::string> command_of_role(std::span<const std::string> arguments,
                                         const Environment& environment);

// Becomes that command; returns only where help was asked for.
int run_main_of_role(std::span<const std::string> arguments);

}  // namespace paddle
