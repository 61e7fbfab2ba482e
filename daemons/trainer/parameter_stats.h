#pragma once

#include "trainer/session.h"

namespace paddle {

// "name  avg_abs_val=… max_val=…": logs how large the values of each parameter are.
void log_parameter_stats(Session& session);

}  // namespace paddle
