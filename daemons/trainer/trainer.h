// The trainer program: `paddle train`, `paddle_trainer`.
#pragma once

#include <map>
#include <span>
#include <string>

namespace paddle {

// Runs one job by flags and environment and returns its exit code. `name` is the command, for its
// help. Throws Error.
int trainer_main(std::span<const std::string> arguments, const std::string& name);

// paddle dump_config CONFIG [config_args] [--role=trainer|pserver] [--whole] [--dot]: the program
// that a job makes, or its halves, on stdout; with a role the placement of slices on stderr.
int dump_config_main(std::span<const std::string> arguments);

// paddle make_diagram CONFIG DOTFILE [config_args]: the network as a Graphviz file.
int make_diagram_main(std::span<const std::string> arguments);

// paddle list_layers [NAME …]: what a job file may hold (layers, optimizers, schedules,
// initializers, …), as Markdown on stdout; or what these are, as plain text. `examples` are
// rows of job files by the type of their layer.
using LayerExamples = std::map<std::string, std::string>;
int list_layers_main(std::span<const std::string> arguments, const LayerExamples& examples);

}  // namespace paddle
