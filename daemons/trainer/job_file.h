// A job file: read, checked, and ready to be built. Its schema are the declarations of those who
// use its parts: layers and optimizers (layers/registry.h), data formats (data/formats.h), options,
// and the few structs here. Every mistake in it is listed at once, each with file:line:column, what
// was expected, what was found, and the nearest right word.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/arguments.h"
#include "data/formats.h"
#include "graph/op.h"
#include "options/options.h"
#include "trainer/json_tree.h"

namespace paddle {

// Throws Error(config) with one mistake per line, in the order of the file; does nothing where
// there is none.
void report(const std::string& file, const Mistakes& mistakes);

// A variable that data is fed into. The batch dimension is added in front.
struct JobInput {
  SourcePlace at;
  std::string name;
  Shape shape{1};  // of one sample
  DType dtype = DType::f32;
  int32_t lod_level = 0;

  void declare(Arguments& a);
};

// A number reported beside the cost.
struct JobEvaluator {
  SourcePlace at;
  std::string type, name, input, label;
  int32_t k = 1, num_thresholds = 4095;

  void declare(Arguments& a);
};

// A job's parts. What has mistakes is left out, and its name is in `left_out`.
struct JobSpec {
  std::string name;
  std::vector<JobInput> inputs;
  List layers;
  std::string cost;
  Names outputs;
  std::vector<JobEvaluator> evaluators;
  Value optimizer;  // null where it has mistakes
  DataKeys data;
  bool has_data = true;  // false where it has mistakes
  // Names of inputs and layers with mistakes; empty in a job that can be built.
  std::set<std::string> left_out;
};
// The keys at the top of a job file, besides options.
std::vector<Parameter> job_parameters();

struct JobFile {
  std::string path;
  std::string source;  // as it stands on disk; saved beside the model
  Value tree = {};     // placeholders filled in
  JobSpec job = {};

  // Where a key of the top level, or the i-th element of its list, stands.
  SourcePlace place(const std::string& key) const;
  SourcePlace place(const std::string& key, size_t i) const;
};

// Reads and checks a job file. Options that it gives are set (flags and environment win).
// `config_args` is "name=value,name=value" for the file's placeholders.
JobFile read_job(const std::string& path, const std::string& config_args, Options& options);

// The same for a text at hand.
JobFile parse_job(const std::string& path, std::string source, const std::string& config_args,
                  Options& options);

}  // namespace paddle
