// What differs between two saved models: their parameters and their tables.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace paddle {

// Of numbers at equal places.
struct NumberDifference {
  uint64_t count = 0, differing = 0;
  uint64_t not_finite = 0;  // of the differing pairs: one of both is NaN or infinite
  double largest = 0;       // |a - b|
  double relative = 0;      // |a - b| / max(|a|, |b|)

  // Numbers with the same bits are equal, NaN too.
  void add(double a, double b);
  // Whether they count as equal; 0 asks for the same bits.
  bool within(double tolerance) const {
    return not_finite == 0 && (differing == 0 || largest <= tolerance) &&
           (tolerance > 0 || differing == 0);
  }
};

// Two tensors of one shape and type.
NumberDifference difference(const Tensor& a, const Tensor& b);

struct ModelComparison {
  std::string text;  // for people
  bool equal = true;
};

// Whether a directory looks like a saved model.
bool is_model(const std::string& path);

// `tolerance`: the largest |a - b| of numbers that count as equal. Throws Error for files that
// cannot be read.
ModelComparison compare_models(const std::string& a, const std::string& b, double tolerance);

}  // namespace paddle
