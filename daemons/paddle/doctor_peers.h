// Finds out what doctor_checks.h judges, about the pservers of a job: their names, ports, answers
// and clocks.
#pragma once

#include <vector>

#include "options/cluster.h"
#include "paddle/doctor_facts.h"
#include "wire/credentials.h"

namespace paddle {

// All at once: at most twice `seconds`, whatever the peers do. Dense shards first.
std::vector<PeerFacts> peer_facts(const Endpoints& endpoints, double seconds,
                                  const wire::Credentials& credentials);

}  // namespace paddle
