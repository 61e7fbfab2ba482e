// How a job's program is cut, by the options of a trainer.
#pragma once

#include "graph/transpile.h"
#include "options/cluster.h"

namespace paddle {

// `cluster` is cluster_of(options). Only sync training averages gradients; all other modes apply
// them one by one.
TranspileOptions cut_options(const Options& options, const Cluster& cluster);

// The cut of a job's program and the shards that it is for, in their order: sparse ones take part
// only where the program has tables.
struct JobCut {
  Cut cut;
  Names endpoints;
};
JobCut cut_program(const Program& main, const Program& startup, const Options& options,
                   const Cluster& cluster);

}  // namespace paddle
