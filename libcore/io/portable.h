// Programs in the form that PaddlePaddle 1.8.5 runs. It reads attributes that our ops do not have
// (which of its libraries computes an op, how images lie in memory), without defaults in gradient
// ops, and its adam op advances the powers of its betas by itself.
#pragma once

#include "graph/program.h"

namespace paddle {

// A copy with all that added; it computes the same. Attributes that are there stay as they are.
Program portable(const Program& program);

}  // namespace paddle
