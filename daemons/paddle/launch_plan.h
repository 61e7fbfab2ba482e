// What paddle launch starts, worked out from its flags before anything runs.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "options/environment.h"
#include "options/options.h"
#include "paddle/nodes.h"

namespace paddle {

struct PlannedProcess {
  std::string name;                    // "pserver.0"
  std::vector<std::string> arguments;  // without the program; trainers may lack pservers yet
  std::string output;                  // file for all that it prints: log/server.0.log
  std::vector<int> cpus;               // that it keeps to; empty: all
};

struct LaunchPlan {
  std::vector<PlannedProcess> servers, workers;
  std::string log_dir;  // of the job; processes that have siblings log in a directory below
  std::string config;
  std::string token_file;    // that the processes get; "" where the options name one
  std::string certs_dir;     // with the certificates that they get; "": no TLS
  bool makes_certs = false;  // launch makes them for this job
  int64_t passes = 0;
  size_t shards = 1;  // dense ones of each pserver
  std::string workspace;
  std::optional<Nodes> nodes;             // nothing: this machine alone
  std::string pservers;                   // all dense shards where they are known before; else ""
  bool script = false;                    // the trainers are Python scripts: settings are variables
  std::vector<std::string> record_flags;  // that repeat the launch, beside those that were given
  std::string job;                        // contents of the job file
};

// What tells a trainer of the plan where the pservers are.
std::string pservers_word(const LaunchPlan& plan, const std::string& list);

OptionTable launch_options();

// On several machines: pservers of each, and the shards of all, "a:7164,b:7164".
size_t servers_of_a_node(const Options& options);
std::string shards_of_nodes(const std::vector<std::string>& nodes, const Options& options);

// Reads the job file too, so that its mistakes are reported before a process runs. Throws Error.
LaunchPlan plan_launch(const Options& options, std::span<const std::string> arguments,
                       const Environment& environment);

// Makes the log directories and the node file, with the names that guides use
// (paddle_pserver2.INFO, paddle_pserver_main.INFO, paddle_trainer.INFO) pointing to the logs of the
// first process. Throws Error(io).
void prepare_directories(const LaunchPlan& plan);

}  // namespace paddle
