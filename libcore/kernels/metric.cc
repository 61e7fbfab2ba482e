#include "kernels/metric.h"

#include <algorithm>
#include <cstring>

#include "kernels/auc_curve.h"

namespace paddle {
namespace {

// The oldest of the last `steps` batches makes place for a new one.
void slide(int64_t* window, int64_t steps, int64_t bins, const int64_t* batch) {
  std::memmove(window, window + bins, static_cast<size_t>((steps - 1) * bins) * sizeof(int64_t));
  std::copy_n(batch, bins, window + (steps - 1) * bins);
}

// The new batch takes the place of the oldest.
void turn(int64_t* ring, int64_t steps, int64_t bins, const int64_t* batch) {
  int64_t *sum = ring + steps * bins, &batches = ring[(steps + 1) * bins];
  int64_t* place = ring + (batches % steps + steps) % steps * bins;
  for (int64_t b = 0; b < bins; ++b) {
    sum[b] += batch[b] - place[b];
    place[b] = batch[b];
  }
  ++batches;
}

void add_up(const int64_t* window, int64_t steps, int64_t bins, int64_t* sum) {
  std::fill_n(sum, bins, 0);
  for (int64_t s = 0; s < steps; ++s)
    for (int64_t b = 0; b < bins; ++b) sum[b] += window[s * bins + b];
}

template <class T>
int64_t find_improbable(int64_t n, int64_t step, const T* p) {
  for (int64_t row = 0; row < n; ++row)
    if (!(p[row * step] >= 0 && p[row * step] <= 1)) return row;
  return -1;
}

template <class T>
void count(Scratch& scratch, int64_t n, int64_t step, const T* p, const int64_t* label,
           const AucState& s) {
  auto* batch = scratch.get<int64_t>(2 * s.bins);
  int64_t *positive = s.steps == 0 ? s.positive : batch,
          *negative = s.steps == 0 ? s.negative : batch + s.bins;
  if (s.steps > 0) std::fill_n(batch, 2 * s.bins, 0);
  for (int64_t row = 0; row < n; ++row) {
    const auto bin = static_cast<int64_t>(p[row * step] * static_cast<T>(s.bins - 1));
    ++(label[row] != 0 ? positive : negative)[bin];
  }
  if (s.steps == 0) return;
  const auto add = s.ring ? turn : slide;
  add(s.positive, s.steps, s.bins, positive);
  add(s.negative, s.steps, s.bins, negative);
}

}  // namespace

void count_hits(const Device&, Scratch&, int64_t n, int64_t k, const int64_t* found,
                const int64_t* label, int32_t* hits, float* share) {
  int32_t sum = 0;
  for (int64_t row = 0; row < n; ++row) {
    const int64_t *begin = found + row * k, *end = begin + k;
    sum += std::find(begin, end, label[row]) != end;
  }
  if (hits != nullptr) *hits = sum;
  if (share != nullptr) *share = n == 0 ? 0.0f : static_cast<float>(sum) / static_cast<float>(n);
}

int64_t first_improbable(const Device&, int64_t n, int64_t step, const float* p) {
  return find_improbable(n, step, p);
}
int64_t first_improbable(const Device&, int64_t n, int64_t step, const double* p) {
  return find_improbable(n, step, p);
}

void count_predictions(const Device&, Scratch& scratch, int64_t n, int64_t step, const float* p,
                       const int64_t* label, const AucState& state) {
  count(scratch, n, step, p, label, state);
}
void count_predictions(const Device&, Scratch& scratch, int64_t n, int64_t step, const double* p,
                       const int64_t* label, const AucState& state) {
  count(scratch, n, step, p, label, state);
}

void curve_area(const Device&, Scratch& scratch, const AucState& s, bool roc, double* area) {
  auc::Histogram all{s.bins, s.positive, s.negative};
  if (s.steps > 0 && s.ring) {
    all = {s.bins, s.positive + s.steps * s.bins, s.negative + s.steps * s.bins};
  } else if (s.steps > 0) {
    auto* sums = scratch.get<int64_t>(2 * s.bins);
    add_up(s.positive, s.steps, s.bins, sums);
    add_up(s.negative, s.steps, s.bins, sums + s.bins);
    all = {s.bins, sums, sums + s.bins};
  }
  *area = roc ? auc::roc_area(all) : auc::pr_area(all);
}

}  // namespace paddle
