// How parameters are divided into slices, and which shard gets which.
#pragma once

#include <vector>

#include "graph/transpile.h"

namespace paddle {

// Rows of each slice of a parameter, by Fluid's rule: at most `count` slices of whole rows, each
// (but the last) of at least `min_block_size` elements. A parameter of rank 0 or 1 has rows of one
// element.
std::vector<int64_t> slice_rows(const Shape& shape, int64_t count, int64_t min_block_size);

// Sets the shard of every slice. Slices of one parameter come to different shards, so that the
// state of an update can keep its name; there must be no more of them than shards.
void place_slices(std::vector<SliceSpec>& slices, size_t shards, SplitMethod method);

}  // namespace paddle
