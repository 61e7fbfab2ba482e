// Probabilities, labels and the loss that they have, for the tests of label losses.
#pragma once

#include <cmath>

#include "support/op_check.h"

namespace paddle::test {

// Rows of positive numbers that sum to 1.
inline Tensor probabilities(DType dtype, const Shape& shape, uint64_t seed) {
  Tensor t = random_tensor(dtype, shape, seed, 0.1, 1);
  const int64_t n = shape[shape.rank() - 1];
  with_float(dtype, [&](auto z) {
    using T = decltype(z);
    for (int64_t r = 0; r < t.numel() / n; ++r) {
      T sum = 0;
      for (int64_t k = 0; k < n; ++k) sum += t.data<T>()[r * n + k];
      for (int64_t k = 0; k < n; ++k) t.data<T>()[r * n + k] /= sum;
    }
  });
  return t;
}

inline Tensor labels(const Shape& shape, int64_t classes, uint64_t seed) {
  return random_tensor(DType::i64, shape, seed, 0, static_cast<double>(classes));
}

inline Shape one_class(Shape s, int axis) {
  s[axis < 0 ? axis + s.rank() : axis] = 1;
  return s;
}

// -sum of weight * log(p) along the axis; hard labels are weights of 1.
inline std::vector<double> label_loss(const std::vector<double>& p, const Shape& s, int axis,
                                      const Tensor& label, bool soft) {
  if (axis < 0) axis += s.rank();
  const int64_t outer = s.product(0, axis), n = s[axis], inner = s.product(axis + 1, s.rank());
  const std::vector<double> l = values_of(label);
  std::vector<double> out;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t j = 0; j < inner; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < n; ++k) {
        const auto at = static_cast<size_t>((o * n + k) * inner + j);
        const double hard = l[soft ? 0 : static_cast<size_t>(o * inner + j)];
        const double weight = soft ? l[at] : static_cast<int64_t>(hard) == k;
        if (weight != 0) sum -= weight * std::log(p[at]);
      }
      out.push_back(sum);
    }
  }
  return out;
}

}  // namespace paddle::test
