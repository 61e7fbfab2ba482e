// A functor with each index of a range: for algorithms that go over a row, a column or a sequence
// of their own.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/map.h"
#include "tensor/device.h"

#ifndef PS_GPU  // kernels/cuda/map.h has it there

namespace paddle {

// f(i) for each i of [0, n), in any order and in parallel. Each call writes what no other call
// reads or writes. `work` is about how many elements a call goes over.
template <class F>
void each(const Device& device, int64_t n, int64_t work, const F& f) {
  const int64_t grain = std::max<int64_t>(1, map_grain / (work + 1));
  device.pool().parallel_for(n, grain, [&](int64_t begin, int64_t end) {
    const F g = f;  // a copy cannot alias what it writes
    for (int64_t i = begin; i < end; ++i) g(i);
  });
}

}  // namespace paddle

#endif
