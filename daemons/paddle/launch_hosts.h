// paddle launch --hosts: the same launch on every machine of a list, started by ssh and watched
// from here.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "options/environment.h"
#include "paddle/host_list.h"

namespace paddle {

// What ssh runs on a host: `paddle launch --nodes=… --node_rank=N …` in the workspace. Its stdout
// carries the events, its stderr the output; it ends when its stdin does.
std::string remote_command(const std::vector<Host>& hosts, size_t rank, const Options& options,
                           std::span<const std::string> arguments, const Environment& environment,
                           const std::string& workspace);

// Returns the exit code of the host that failed first, or 0. Throws Error(config), Error(io).
int launch_on_hosts(const std::vector<Host>& hosts, const Options& options,
                    std::span<const std::string> arguments, const Environment& environment);

}  // namespace paddle
