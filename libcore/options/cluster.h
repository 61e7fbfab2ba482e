// Who the processes of a job are, worked out from the options.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/credential_files.h"
#include "options/options.h"

namespace paddle {

enum class TrainMode { sync, async, half_async, geo };

// Where the shards are, as "host:port"; a shard's place in its list is its index, for all trainers.
struct Endpoints {
  std::vector<std::string> dense, sparse;
};

// Expands pservers × ports: `h1,h2` with port 7164, ports_num 2 and ports_num_for_sparse 1 gives
// dense h1:7164 h1:7165 h2:7164 h2:7165 and sparse h1:7166 h2:7166. An entry `host:port` gives the
// first dense port of its host (IPv6 in brackets: [::1]:7164); of such entries there are no sparse
// shards unless ports_num_for_sparse is given, so that neighbouring ports of one host can be
// pservers of their own. Throws one Error(config) with every problem.
Endpoints endpoints_of(const Options& options);

// What a trainer of a job with pservers must know.
struct Cluster {
  std::vector<std::string> dense, sparse;  // as in Endpoints
  uint32_t trainers = 1, trainer_id = 0;
  bool id_given = false;  // else a pserver assigns trainer_id
  TrainMode mode = TrainMode::sync;
};

// Throws one Error(config) with every problem of pservers, ports, ids and modes.
Cluster cluster_of(const Options& options);

// What --token_file, --cert_file, --key_file and --ca_file name.
CredentialFiles credential_files(const Options& options);

// Settles `local` where it was not given: false where pservers or cluster_train are. To be called
// once, after the job file was read; --print_config is right only after it. Throws Error(config)
// where local and cluster_train contradict each other.
void settle_local(Options& options);

}  // namespace paddle
