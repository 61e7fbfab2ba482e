// Counts behind an AUC, so that those of several trainers can be added up: the AUC of the sum is
// that of one process that has seen all records.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "wire/messages.h"

namespace paddle {

// How many records of label 1 and of label 0 got a prediction in each bin of the probability:
// rising, without empty bins.
using Histogram = std::vector<wire::BinCount>;

// Of counts for all bins.
Histogram histogram_of(std::span<const int64_t> positive, std::span<const int64_t> negative);
// Whether bins rise and none is empty: what a peer sends may be anything.
bool well_formed(const Histogram& counts);
void add(const Histogram& counts, Histogram& to);
// False where `from` has less somewhere; it is then as it was.
bool subtract(const Histogram& counts, Histogram& from);

// The area under the ROC curve, by the same sums as the op `auc`; 0 without records of both labels.
double roc_area(const Histogram& counts);

}  // namespace paddle
