// The jobs of `paddle train`.
#pragma once

#include "trainer/session.h"

namespace paddle {

// Trains num_passes passes; tests and saves on the way. Ends early, with everything saved that was
// asked for so far, when a signal asks to stop.
void train(Session& session);
// Tests saved models, one line each on stdout.
void test_models(Session& session);
// Measures batches per second, on stdout.
void measure_time(Session& session);
// Compares gradients with central differences, computed in double precision; one line per parameter
// on stdout. Throws Error(numeric) where one differs by more than 1e-4.
void check_gradients(Session& session);

}  // namespace paddle
