// The update rules over arrays in the memory of a GPU. As with kernels/cuda/cuda_map.h, nothing
// calls them yet.
#pragma once

#include <cstdint>

#include "kernels/cuda/cuda_map.h"
#include "optim/rules.h"

namespace paddle::optim {

// p and states from a dense gradient of n elements; the functor holds the rule's numbers. Compiled
// for every rule of rules.h, in float and double; `states` are as many as the rule has.
template <class Rule, class T>
void update_on_gpu(cuda::Stream stream, int64_t n, const Rule& rule, T* p, const T* g,
                   T* const* states);

}  // namespace paddle::optim
