// Which processors the trainers of one machine keep to. Left to themselves, two trainers often meet
// on one processor after a pserver has woken up on the other, until the system moves one of them:
// a fifth of a step and more.
#pragma once

#include <sched.h>

#include <cstddef>
#include <span>
#include <vector>

namespace paddle {

// Numbers of the processors that this process may use; empty where the system does not say.
std::vector<int> own_cpus();

// The part of them for process `index` of `count`, each with `threads` that compute: neighbours,
// and shared with no other. Empty, which means all, where there are too few.
std::vector<int> cpu_share(std::span<const int> cpus, size_t index, size_t count, size_t threads);

cpu_set_t cpu_mask(std::span<const int> cpus);

}  // namespace paddle
