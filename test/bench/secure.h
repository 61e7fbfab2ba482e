// Pushes through a connection that is protected, beside one that is not.
#pragma once

namespace paddle::bench {

// Prints one line per kind of protection.
void measure_secure(double secs);

}  // namespace paddle::bench
