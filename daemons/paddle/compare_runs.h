// Two runs side by side, by what they reported and by their options.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "paddle/compare_models.h"

namespace paddle {

// What a run reached in each pass, by name: "cost", "accuracy", "test cost".
struct RunResults {
  std::map<int64_t, std::map<std::string, double>> passes;  // counted from 0
  std::map<std::string, std::string> options;               // that were given; may be empty
};

// The event file of a run, or "" where `path` is neither one nor a workspace with one.
std::string event_file_of(const std::string& path);

// Of an event file or a workspace. A pass that was done twice counts as it was done last. Throws
// Error(io), and Error(data) where there is no pass in it.
RunResults read_run(const std::string& path);

// Equal: the same numbers in the same passes, up to `tolerance`. Options are shown only.
ModelComparison compare_runs(const std::string& name_a, const RunResults& a,
                             const std::string& name_b, const RunResults& b, double tolerance);

}  // namespace paddle
