// What a step of a job asks of a GPU, and how long that takes at least on two GPUs, by their data
// sheets: --job=time --dry_run.
#pragma once

#include "trainer/session.h"

namespace paddle {

void estimate_gpu_step(Session& session);

}  // namespace paddle
