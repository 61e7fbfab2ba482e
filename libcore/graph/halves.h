// The two sides of a cut, made of its parts and its slices.
#pragma once

#include <string>
#include <vector>

#include "graph/cut_parts.h"
#include "graph/transpile.h"

namespace paddle {

// "fc_0.w_0@GRAD", or "fc_0.w_0@GRAD.block1" where there are several slices.
std::string slice_name(const std::string& whole, const SliceSpec& slice);

// Ops that compute gradients, with sends after them and receives at the end, in Fluid's order.
Program trainer_half(const Program& main, const CutParts& parts,
                     const std::vector<SliceSpec>& slices, const TranspileOptions& options);

// The startup program with receives at its end, as Fluid has it. They are marked do_not_run: a
// trainer takes the values of the pservers over when it joins the job.
Program trainer_startup(const Program& startup, const CutParts& parts,
                        const std::vector<SliceSpec>& slices, const TranspileOptions& options);

struct PserverHalf {
  Program main, startup;
};

// What one shard runs. Completes its slices: block, merged_grad, states.
PserverHalf pserver_half(const Program& main, const Program& startup, const CutParts& parts,
                         std::vector<SliceSpec>& slices, size_t shard,
                         const TranspileOptions& options);

}  // namespace paddle
