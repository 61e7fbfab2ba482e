// paddle run --kubernetes: which process of a job a pod is.
#pragma once

#include <string>
#include <vector>

#include "options/environment.h"
#include "options/options.h"

namespace paddle {

// The number at the end of a pod's name: 3 of "pserver-3". Throws Error(config) where there is
// none.
size_t pod_ordinal(const std::string& name);

// Puts pservers, trainer_id and current_endpoint into the options, unless they are given: the
// pservers of a StatefulSet by their stable names, a trainer by its completion index or its name.
void settle_pod(Options& options, const Environment& environment, bool trainer);

}  // namespace paddle
