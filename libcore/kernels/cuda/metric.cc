// kernels/metric.h on a GPU: one thread for each bin, so that counts need no atomics.
#include "kernels/metric.h"

#include "kernels/auc_curve.h"
#include "kernels/cuda/memory.h"

namespace paddle {
namespace {

struct Hit {
  int64_t k;
  const int64_t *found, *label;
  PS_HD bool operator()(int64_t row) const {
    for (int64_t i = row * k; i < (row + 1) * k; ++i)
      if (found[i] == label[row]) return true;
    return false;
  }
};

struct JoinHits {
  int64_t parts, n;
  PS_HD void operator()(int64_t, const int64_t* counts, int32_t* hits, float* share) const {
    int64_t sum = 0;
    for (int64_t part = 0; part < parts; ++part) sum += counts[part];
    const auto found = static_cast<int32_t>(sum);
    if (hits != nullptr) *hits = found;
    if (share != nullptr)
      *share = n == 0 ? 0.0f : static_cast<float>(found) / static_cast<float>(n);
  }
};

template <class T>
struct Improbable {
  int64_t step;
  const T* p;
  PS_HD bool operator()(int64_t row) const { return !(p[row * step] >= 0 && p[row * step] <= 1); }
};

// What the batch adds to a bin, and what the window of the last batches makes of it.
struct CountBin {
  int64_t n, step;
  AucState s;
  template <class T>
  PS_HD void operator()(int64_t bin, const T* p, const int64_t* label) const {
    int64_t positive = 0, negative = 0;
    for (int64_t row = 0; row < n; ++row) {
      if (static_cast<int64_t>(p[row * step] * static_cast<T>(s.bins - 1)) != bin) continue;
      (label[row] != 0 ? positive : negative) += 1;
    }
    add(bin, positive, s.positive);
    add(bin, negative, s.negative);
  }
  PS_HD void add(int64_t bin, int64_t count, int64_t* state) const {
    if (s.steps == 0) {
      state[bin] += count;
    } else if (s.ring) {  // the new batch takes the place of the oldest
      const int64_t batches = state[(s.steps + 1) * s.bins];
      int64_t& place = state[(batches % s.steps + s.steps) % s.steps * s.bins + bin];
      state[s.steps * s.bins + bin] += count - place;
      place = count;
    } else {
      for (int64_t k = 0; k + 1 < s.steps; ++k)
        state[k * s.bins + bin] = state[(k + 1) * s.bins + bin];
      state[(s.steps - 1) * s.bins + bin] = count;
    }
  }
};

struct CountBatch {
  PS_HD void operator()(int64_t& batches) const { ++batches; }
};

struct SumBin {
  int64_t bins, steps;
  PS_HD void operator()(int64_t bin, const int64_t* window, int64_t* sum) const {
    sum[bin] = 0;
    for (int64_t k = 0; k < steps; ++k) sum[bin] += window[k * bins + bin];
  }
};

struct AreaOf {
  int64_t bins;
  bool roc;
  PS_HD void operator()(int64_t, const int64_t* positive, const int64_t* negative,
                        double* area) const {
    const auc::Histogram all{bins, positive, negative};
    *area = roc ? auc::roc_area(all) : auc::pr_area(all);
  }
};

}  // namespace

void count_hits(const Device& device, Scratch& scratch, int64_t n, int64_t k, const int64_t* found,
                const int64_t* label, int32_t* hits, float* share) {
  const cuda::CountInPart<Hit> body{cuda::Parts(n), Hit{k, found, label}};
  auto* counts = scratch.get<int64_t>(cuda::most_parts);
  cuda::launch(device, body.parts.count, body, counts);
  cuda::launch(device, 1, JoinHits{body.parts.count, n}, static_cast<const int64_t*>(counts), hits,
               share);
}

#define PS_METRIC(T)                                                                          \
  int64_t first_improbable(const Device& device, int64_t n, int64_t step, const T* p) {       \
    return cuda::first_bad(device, n, Improbable<T>{step, p});                                \
  }                                                                                           \
  void count_predictions(const Device& device, Scratch&, int64_t n, int64_t step, const T* p, \
                         const int64_t* label, const AucState& state) {                       \
    cuda::launch(device, state.bins, CountBin{n, step, state}, p, label);                     \
    if (state.steps == 0 || !state.ring) return;                                              \
    const int64_t counter = (state.steps + 1) * state.bins;                                   \
    update(device, 1, CountBatch{}, state.positive + counter);                                \
    update(device, 1, CountBatch{}, state.negative + counter);                                \
  }
PS_METRIC(float)
PS_METRIC(double)
#undef PS_METRIC

void curve_area(const Device& device, Scratch& scratch, const AucState& s, bool roc, double* area) {
  const int64_t *positive = s.positive, *negative = s.negative;
  if (s.steps > 0 && s.ring) {
    positive += s.steps * s.bins;
    negative += s.steps * s.bins;
  } else if (s.steps > 0) {
    auto* sums = scratch.get<int64_t>(2 * s.bins);
    cuda::launch(device, s.bins, SumBin{s.bins, s.steps}, positive, sums);
    cuda::launch(device, s.bins, SumBin{s.bins, s.steps}, negative, sums + s.bins);
    positive = sums;
    negative = sums + s.bins;
  }
  cuda::launch(device, 1, AreaOf{s.bins, roc}, positive, negative, area);
}

}  // namespace paddle
