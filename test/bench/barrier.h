// A round of two trainers: how long it takes from the push of a tiny gradient to the values that
// both trainers made.
#pragma once

namespace paddle::bench {

void measure_barrier(double secs);

}  // namespace paddle::bench
