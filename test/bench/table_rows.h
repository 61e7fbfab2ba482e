// Rows of a sparse table over loopback: one trainer's client and one pserver.
#pragma once

namespace paddle::bench {

// Prints one line each for pulls, pushes and whole steps.
void measure_rows(double secs);

}  // namespace paddle::bench
