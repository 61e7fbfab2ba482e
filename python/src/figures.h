// What the steps of a script come to, for its events: the script fetches numbers, and one of them
// is the loss.
#pragma once

#include <span>

#include "exec/plan.h"
#include "trainer/step_client.h"

namespace paddle {

// Of the plan's last run. The loss is what the op with the role of the loss makes; other fetches
// that are one number go by their names.
StepFigures figures_of(const Plan& plan, const Program& program, const Names& fetches);

// Rows of the first batch that is fed, or its sequences; 0 where nothing is fed.
int64_t samples_in(std::span<const Tensor> feeds);

}  // namespace paddle
