// The trainer's half of a cut as a plan runs it. Fluid's ops say that gradients are sent and
// parameters received; versions of slices make its barriers needless. So a gradient is pushed as
// soon as it is there, and a parameter awaited only when the next step first reads it.
#pragma once

#include <string>
#include <vector>

#include "graph/kernel.h"
#include "graph/program.h"

namespace paddle {

// Takes the ops of the cut (send, recv, barriers, split_byref, and concat of what was received) out
// of `ops`, and returns what they moved: Program::exchanged, or nothing where there were none.
// Throws Error(config) where the program does not say.
std::vector<ExchangedParam> take_remote_ops(std::vector<Op>& ops, const Program& program,
                                            const Block& block);

// Puts a `push` after the last op that writes each gradient and a `pull` before the first op that
// reads each parameter; an `await_answer` before the first op that writes a gradient which `remote`
// (null: none yet) reads until then. Done after fusion, which would otherwise stop at them.
void place_remote_ops(std::vector<Op>& ops, const std::vector<ExchangedParam>& exchanged,
                      const Remote* remote);

}  // namespace paddle
