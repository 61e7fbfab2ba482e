// What the host asks about an array: where something is first, and how often it is there. Each part
// of the array has an answer of its own; the host joins them, and so waits. A check, whose answer
// is a mistake in the data, need not wait: while a recording is made it becomes part of it.
#pragma once

#include "kernels/cuda/launch.h"

namespace paddle::cuda {

template <class F>
struct FirstInPart {
  Parts parts;
  F f;
  PS_HD void operator()(int64_t part, int64_t* found) const {
    found[part] = -1;
    for (int64_t i = parts.begin(part); i < parts.end(part) && found[part] < 0; ++i)
      if (f(i)) found[part] = i;
  }
};

template <class F>
struct CountInPart {
  Parts parts;
  F f;
  PS_HD void operator()(int64_t part, int64_t* found) const {
    found[part] = 0;
    for (int64_t i = parts.begin(part); i < parts.end(part); ++i) found[part] += f(i) ? 1 : 0;
  }
};

template <class Body>
struct PartResults {
  PartResults(const Device& device, const Body& body) {
    Gpu& gpu = gpu_of(device);
    gpu.needs_host();
    auto* found = gpu.workspace<int64_t>(most_parts);
    launch(device, body.parts.count, body, found);
    gpu.download(at, found, static_cast<size_t>(body.parts.count) * sizeof(int64_t));
  }
  int64_t at[most_parts];
};

// The first i of [0, n) with f(i); -1 if there is none.
template <class F>
int64_t first_where(const Device& device, int64_t n, const F& f) {
  const Parts parts(n);
  const PartResults found(device, FirstInPart<F>{parts, f});
  for (int64_t part = 0; part < parts.count; ++part)
    if (found.at[part] >= 0) return found.at[part];
  return -1;
}

// What follows does nothing where a part has found something (Guard).
struct StopWhereFound {
  int64_t parts;
  Guard guard;
  PS_HD void operator()(int64_t, const int64_t* found) const {
    for (int64_t part = 0; part < parts; ++part)
      if (found[part] >= 0) *guard.failed = guard.op;
  }
};

// The same for what must not be there. A recording goes on as if there were none; in a replay the
// op's number is in Guard::failed then.
template <class F>
int64_t first_bad(const Device& device, int64_t n, const F& f) {
  Gpu& gpu = gpu_of(device);
  if (!gpu.recording()) return first_where(device, n, f);
  if (gpu.guard.failed == nullptr) throw NotRecordable();
  const FirstInPart<F> body{Parts(n), f};
  auto* found = gpu.workspace<int64_t>(most_parts);
  launch(device, body.parts.count, body, found);
  launch(device, 1, StopWhereFound{body.parts.count, gpu.guard},
         static_cast<const int64_t*>(found));
  return -1;
}

// For how many i of [0, n) f(i) is true.
template <class F>
int64_t count_where(const Device& device, int64_t n, const F& f) {
  const Parts parts(n);
  const PartResults found(device, CountInPart<F>{parts, f});
  int64_t sum = 0;
  for (int64_t part = 0; part < parts.count; ++part) sum += found.at[part];
  return sum;
}

}  // namespace paddle::cuda
