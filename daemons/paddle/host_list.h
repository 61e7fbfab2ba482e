// Hosts to reach by ssh, as --hosts and --hostfile name them.
#pragma once

#include <string>
#include <vector>

#include "options/options.h"

namespace paddle {

struct Host {
  std::string word;                // as written: user@node-a:2222
  std::string target, name, port;  // user@node-a, node-a, 2222 or ""
};

// The words between commas, without blanks; empty ones are left out.
std::vector<std::string> split_list(const std::string& list);

// Of --hosts or --hostfile; empty where neither is given. Lines of a file may hold comments after
// #, and words after the host ("slots=2"). Throws one Error(config) with every problem.
std::vector<Host> hosts_of(const Options& options);

}  // namespace paddle
