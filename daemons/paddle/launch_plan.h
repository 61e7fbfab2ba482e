// What paddle launch starts, worked out from its flags before anything runs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "options/environment.h"
#include "options/options.h"

namespace paddle {

struct PlannedProcess {
  std::string name;                    // "pserver.0"
  std::vector<std::string> arguments;  // without the program; trainers lack --pservers yet
  std::string output;                  // file for all that it prints: log/server.0.log
  std::vector<int> cpus;               // that it keeps to; empty: all
};

struct LaunchPlan {
  std::vector<PlannedProcess> servers, workers;
  std::string log_dir;  // of the job; processes that have siblings log in a directory below
  std::string config;
  std::string token_file;  // that the processes get; "" where the options name one
  int64_t passes = 0;
  size_t shards = 1;  // dense ones of each pserver
};

OptionTable launch_options();

// Reads the job file too, so that its mistakes are reported before a process runs. Throws Error.
LaunchPlan plan_launch(const Options& options, std::span<const std::string> arguments,
                       const Environment& environment);

// Makes the log directories, with the names that guides use (paddle_pserver2.INFO,
// paddle_pserver_main.INFO, paddle_trainer.INFO) pointing to the logs of the first process. Throws
// Error(io).
void prepare_directories(const LaunchPlan& plan);

}  // namespace paddle
