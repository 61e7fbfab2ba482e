// The pserver program: `paddle pserver`, `paddle_pserver`.
#pragma once

#include <span>
#include <string>

namespace paddle {

// Serves by flags and environment until the job is done (--exit_when_done) or a signal asks to
// stop, and returns the exit code. Throws Error.
int pserver_main(std::span<const std::string> arguments);

}  // namespace paddle
