// Counts behind an AUC, as texts that fit into events, so that those of several trainers can be
// added up: the AUC of the sum is that of one process that has seen all records.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paddle {

// How many records of label 1 and of label 0 got a prediction in each bin of the probability.
struct Histogram {
  std::vector<int64_t> positive, negative;
  bool operator==(const Histogram&) const = default;
};

// In order; each has less than 1000 characters and is read by itself.
std::vector<std::string> histogram_texts(std::span<const int64_t> positive,
                                         std::span<const int64_t> negative);
// Adds the counts of such a text. False, and nothing is added, where it is damaged or names a bin
// beyond `to`.
bool add_histogram_text(std::string_view text, Histogram& to);

// The area under the ROC curve, by the same sums as the op `auc`; 0 without records of both labels.
double roc_area(const Histogram& counts);

}  // namespace paddle
