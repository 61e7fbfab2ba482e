// What a trainer tells beside its log: events (--event_file, --event_dir) and pages over HTTP
// (--http_port). Of job files and of Python scripts.
#pragma once

#include <memory>
#include <string>

#include "obs/http_server.h"
#include "options/options.h"

namespace paddle {

// From here on the process emits events. `config`: the job file, "" for a script. The server, where
// there is one, serves until it is destroyed. Throws Error(io) and Error(config).
std::unique_ptr<HttpServer> begin_telling(const Options& options, const std::string& config);

}  // namespace paddle
