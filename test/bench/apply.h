// Updates of a shard from memory, beside plain loops that do the same sums.
#pragma once

namespace paddle::bench {

// Prints one line per rule; about so many seconds in all.
void measure_apply(double secs);

}  // namespace paddle::bench
