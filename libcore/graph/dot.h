// A program as a Graphviz graph: ops are boxes coloured by role, variables ellipses, parameters
// filled. `dot -Tsvg` draws it.
#pragma once

#include <string>

#include "graph/program.h"

namespace paddle {

std::string program_dot(const Program& program);

}  // namespace paddle
