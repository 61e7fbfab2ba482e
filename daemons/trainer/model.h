// A job's network as programs: one that trains, one that tests, and what to watch while they run.
#pragma once

#include <string>
#include <vector>

#include "graph/backward.h"
#include "layers/builder.h"
#include "trainer/job_file.h"

namespace paddle {

// A number reported beside the cost.
struct Evaluator {
  std::string name;
  std::string var;        // fetched after every batch
  bool running = false;   // var already covers all batches since its states were cleared; else
                          // batches are averaged
  bool inverted = false;  // report 1 - var
  std::string under;      // a second variable: report the sum of var over the sum of it; "" = none
  Names states;           // cleared at the start of a pass
  Names histogram;        // auc: of these, the counts of both labels over the pass
  Names window;           // batch_auc: of these, the counts of both labels in the last batch

  size_t numbers() const { return under.empty() ? 1 : 2; }  // fetched after every batch
};

struct Model {
  Net net;           // forward, backward, update; and the startup program
  Program test;      // forward only, in test mode
  Names inputs;      // names of the variables to feed, as the job lists them
  std::string cost;  // shape [1]
  std::vector<Evaluator> evaluators;
  Names outputs;                  // what an inference model computes
  std::vector<ParamGrad> params;  // with their gradients
  std::string digest;  // of the training program: a saved state belongs to it where both agree

  Names fetches() const;  // the cost, then the numbers of the evaluators
};

enum class ModelKind {
  trains,          // with optimizer
  differentiates,  // with gradients, without optimizer
};

// What is wrong with the parts of a job whose keys are right: data, inputs, layers, cost,
// evaluators, optimizer.
Mistakes find_mistakes(const JobFile& file);

// Builds the programs of a checked job file. All mistakes (unknown layers, missing inputs, shapes
// that do not fit) are reported with their places in the job file.
Model build_model(const JobFile& file, uint32_t seed, ModelKind kind = ModelKind::trains);

}  // namespace paddle
