// One pass of a program over a data set that several threads read: what Fluid's train_from_dataset
// does. Two ways: every thread also trains (Hogwild), or one thread takes the steps in turn.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "data/reader.h"
#include "exec/executor.h"

namespace paddle {

// What a thread calls for its next batch; false at the end of the pass.
using NextBatch = std::function<bool(Batch&)>;

struct PassOptions {
  Names feeds;                 // the variables that the fields of a batch are fed to, in order
  Names fetches;               // what on_fetch gets
  int64_t fetch_period = 100;  // batches from one call of on_fetch to the next
  std::function<void(std::vector<Tensor>)> on_fetch;
  std::function<void()> stop_reading;  // makes sources that wait return soon; may be empty
  bool print_costs = false;            // of ops, on stderr, every 100 batches of the first thread
};

// Each source gets a thread that reads its batches and trains on them. Every thread has temporaries
// of its own; all write the same parameters without waiting for each other (Hogwild). on_fetch is
// called by the first thread and counts its batches. The calling thread waits and checks for
// interrupts. Returns the number of batches; throws what the first thread that failed threw.
int64_t hogwild_pass(const Program& program, Scope& scope, std::vector<NextBatch> sources,
                     const PassOptions& options);

// Takes a step on a batch and returns the plan that it has run. `following` is the batch of the
// next step, or null where it is not there yet.
using TakeStep = std::function<Plan&(const Batch& batch, const Batch* following)>;

// Each source gets a thread that reads its batches; the calling thread takes a step on one batch
// after the other, as pservers count steps.
int64_t ordered_pass(std::vector<NextBatch> sources, const TakeStep& step,
                     const PassOptions& options);

}  // namespace paddle
