// The trainer's half of a cut as a plan runs it. Fluid's ops say that gradients are sent and
// parameters received; versions of slices make its barriers needless. So a gradient is pushed as
// soon as it is there, and a parameter awaited only when the next step first reads it.
#pragma once

#include <string>
#include <vector>

#include "graph/program.h"

namespace paddle {

struct RemoteOps {
  // A variable and the number of its parameter (an index into Cut::params).
  struct Transfer {
    std::string var;
    int32_t param = 0;
  };
  std::vector<Transfer> pushes, pulls;

  // The gradients: they must be computed whoever else reads them, and keep their memory until the
  // pull of the next step.
  Names pushed() const;
};

// Takes the ops of the cut (send, recv, barriers, split_byref, and concat of what was received) out
// of `ops` and tells what they moved. Throws Error(config) where they do not belong together.
RemoteOps take_remote_ops(std::vector<Op>& ops, const Block& block);

// Puts a `push` after the last op that writes each gradient and a `pull` before the first op that
// reads each parameter. Done after fusion, which would otherwise stop at them.
void place_remote_ops(std::vector<Op>& ops, const RemoteOps& remote);

}  // namespace paddle
