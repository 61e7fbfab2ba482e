// Fusion: runs of ops that pass intermediate results to each other become one op that does not
// write them to memory.
#pragma once

#include <vector>

#include "graph/program.h"
#include "tensor/scope.h"

namespace paddle {

// The ops to run instead. Variables that are fetched, fed, persistable or held by the scope are
// kept as they are.
std::vector<Op> fuse_ops(std::vector<Op> ops, const Block& block, const Scope& scope,
                         const Names& feeds, const Names& fetches);

}  // namespace paddle
