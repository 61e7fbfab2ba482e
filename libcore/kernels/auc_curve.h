// The area under a curve of predictions that are counted by bins.
#pragma once

#include <cstdint>

#include "kernels/simd.h"

namespace paddle::auc {

struct Histogram {
  int64_t bins;
  const int64_t *positive, *negative;
};

// From the highest bin down, as the threshold falls: true positives over false positives.
PS_HD inline double roc_area(const Histogram& h) {
  double area = 0, positive = 0, negative = 0;
  for (int64_t b = h.bins - 1; b >= 0; --b) {
    const auto up = static_cast<double>(h.positive[b]), right = static_cast<double>(h.negative[b]);
    area += right * (positive + positive + up) / 2;
    positive += up;
    negative += right;
  }
  return positive > 0 && negative > 0 ? area / positive / negative : 0;
}

// Precision over recall; before the first prediction the precision is that of the first bin.
PS_HD inline double pr_area(const Histogram& h) {
  double area = 0, positive = 0, all = 0, precision = -1;
  for (int64_t b = h.bins - 1; b >= 0; --b) {
    const auto up = static_cast<double>(h.positive[b]);
    positive += up;
    all += up + static_cast<double>(h.negative[b]);
    if (all == 0) continue;
    const double now = positive / all;
    area += up * (precision < 0 ? now : (precision + now) / 2);
    precision = now;
  }
  return positive > 0 ? area / positive : 0;
}

}  // namespace paddle::auc
