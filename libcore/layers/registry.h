// Layers, optimizers and schedules by name, for job files: each row declares the arguments of one
// function of layers.h and calls it. A job's {"type": "fc", "input": "x", "size": 200} is built by
// the same code as fc(b, "x", 200).
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "layers/arguments.h"
#include "layers/builder.h"
#include "layers/optimizers.h"

namespace paddle {

using Make = std::function<Names(const Builder&)>;  // appends the ops, returns the results
// Finds the variable that a name in a job file stands for.
using Resolve = std::function<std::string(const std::string&)>;

struct LayerRow {
  std::string_view type, meaning;
  // Declares and reads the arguments. What it returns may be called if there were no problems.
  std::function<Make(Arguments&, const Resolve&)> declare;
};
struct OptimizerRow {
  std::string_view type, meaning;
  const optim::Description* rule;
};
struct ScheduleRow {
  std::string_view type, meaning;
  // The rate that it starts from is the optimizer's learning_rate; only linear_lr_warmup can start
  // from a variable.
  std::function<std::string(const Builder&)> (*declare)(Arguments&, const LearningRate& rate);
};

std::span<const LayerRow> layer_rows();  // by type
std::span<const OptimizerRow> optimizer_rows();
std::span<const ScheduleRow> schedule_rows();
std::vector<Parameter> parameters_of(const LayerRow& row);
std::vector<Parameter> parameters_of(const OptimizerRow& row);
std::vector<Parameter> parameters_of(const ScheduleRow& row);
std::vector<Parameter> common_optimizer_parameters();  // besides each row's own

// What a layer's name in a job file stands for: its (first) result; "name.1" the second.
using Aliases = std::map<std::string, std::string>;

// What is wrong with the type and the keys of a layer of a job file, an object.
Mistakes check_layer(const Value& layer);
// Builds one layer; `args` holds its type. Throws Error(config) with all mistakes of the arguments
// at once.
Names build_layer(const Builder& b, const Dict& args, const Aliases& aliases = {});
// {"type": "adam", "learning_rate": 0.01, "l2": 1e-4, "schedule": {…}, "gradient_clip": {…}}:
// appends the schedule and sets the clip of all parameters that have none of their own.
Optimizer make_optimizer(const Builder& b, const Dict& args);
// What is wrong with the keys of such an object, its schedule and its clip.
Mistakes check_optimizer(const Value& optimizer);
// {"type": "exponential_decay", "decay_steps": 100, …}: appends the ops that compute the rate and
// returns its variable. "learning_rate" in `args` counts instead of `rate`; it may be the name of a
// variable.
std::string build_schedule(const Builder& b, const Dict& args, LearningRate rate = {});

}  // namespace paddle
