// Flags for several programs at once: which of them goes to whom.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "options/command_line.h"

namespace paddle {

// `first` and the rows of the trainer and the pserver, each name once.
OptionTable with_daemon_options(OptionTable first);

// The given flags that `table` has, as --name=value, in their order.
std::vector<std::string> flags_for(const OptionTable& table, std::span<const GivenFlag> given);

// Takes the flag away from a list of --name=value, so that it can be given anew.
void drop_flag(std::vector<std::string>& flags, const std::string& name);

}  // namespace paddle
