// Measures of predictions.
#pragma once

#include <cstdint>

#include "tensor/device.h"

namespace paddle {

// How many of n rows of found [n, k] contain the row's label, as a number and as their share; null
// for what is not wanted.
void count_hits(const Device& device, Scratch& scratch, int64_t n, int64_t k, const int64_t* found,
                const int64_t* label, int32_t* hits, float* share);

// The area under a curve, of predictions counted per bin of their probability. With `steps` > 0
// the counts are those of the last so many batches: as PaddlePaddle 1.8 keeps them (`ring`),
// [steps, bins] written in turn, their sum [bins] and the number of batches so far; or as 1.5 does,
// [steps, bins] with the newest last.
struct AucState {
  int64_t bins, steps;
  bool ring;
  int64_t *positive, *negative;

  static int64_t ring_size(int64_t bins, int64_t steps) { return (steps + 1) * bins + 1; }
};

// Of n probabilities, `step` apart: the first that is none; -1 if all are.
int64_t first_improbable(const Device& device, int64_t n, int64_t step, const float* p);
int64_t first_improbable(const Device& device, int64_t n, int64_t step, const double* p);

// Adds a batch: a label that is not 0 is positive.
void count_predictions(const Device& device, Scratch& scratch, int64_t n, int64_t step,
                       const float* p, const int64_t* label, const AucState& state);
void count_predictions(const Device& device, Scratch& scratch, int64_t n, int64_t step,
                       const double* p, const int64_t* label, const AucState& state);

// *area = that of the ROC curve, or of precision over recall.
void curve_area(const Device& device, Scratch& scratch, const AucState& state, bool roc,
                double* area);

}  // namespace paddle
