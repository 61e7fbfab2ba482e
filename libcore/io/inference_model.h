// Models for inference in Fluid's layout: `__model__`, the pruned program with feed and fetch ops,
// and the persistable variables beside it.
#pragma once

#include <string>

#include "io/save.h"

namespace paddle {

struct InferenceFiles {
  std::string model = "__model__";
  std::string params = {};  // empty: one file per variable
};

struct InferenceModel {
  Program program;       // with its feed and fetch ops, as it was saved
  Names feeds, fetches;  // in order of their columns
};

// The program that computes `targets` from `feeds`: a scale op by 1 behind each target (so that a
// target may also be a feed or a parameter), everything else pruned, is_test set, feed ops in front
// (the last one first) and fetch ops behind, as Fluid has them. Throws Error(config) for names that
// are not there, feeds that no target needs and inputs that are not given.
InferenceModel make_inference_model(const Program& main, const Names& feeds, const Names& targets);

// Saves it; `__model__` comes last, so that a directory with one is complete. Returns the names of
// the fetched variables.
Names save_inference_model(const std::string& directory, const Names& feeds, const Names& targets,
                           const Program& main, const ValueSource& values,
                           const InferenceFiles& files = {});

InferenceModel load_inference_model(const std::string& directory, const ValueSink& sink,
                                    const InferenceFiles& files = {});

}  // namespace paddle
