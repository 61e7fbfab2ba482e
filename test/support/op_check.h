// Runs one op, or its gradient, through a real program and plan, and compares gradients with
// central differences.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "exec/executor.h"
#include "graph/op_def.h"

namespace paddle::test {

using SlotTensors = std::vector<std::pair<std::string, std::vector<Tensor>>>;

struct OpCase {
  std::string type;
  SlotTensors in;
  Attrs attrs = {};
  // Output slots and how many variables each has; empty: one for every output slot of the
  // definition.
  std::vector<std::pair<std::string, int>> out = {};
};

using Results = std::map<std::string, std::vector<Tensor>>;

// Whether the cases run on the emulated GPU, whose loops round in other places than the CPU's.
bool tests_gpu();

// The outputs by slot. Selected rows come back as the dense tensor that they stand for.
Results run_op(const OpCase& c, int threads = 1);

// Gradients of sum(w * out) with respect to the tensors of `wrt`, where w are fixed random weights
// for each output of `out_slots`; by the op's own gradient op(s). Float inputs are used as they are
// given (give double for exactness). `want_other` also asks for the gradients of the other inputs.
Results run_grad(const OpCase& c, const std::vector<std::string>& wrt,
                 const std::vector<std::string>& out_slots = {"Out"});

// The largest |analytic - numeric| / max(1, |analytic|, |numeric|) over all elements of `wrt`.
// Inputs of float32 are converted to float64 first.
double grad_error(const OpCase& c, const std::vector<std::string>& wrt,
                  const std::vector<std::string>& out_slots = {"Out"}, double eps = 1e-5);

// Deterministic test values in [low, high).
Tensor random_tensor(DType dtype, const Shape& shape, uint64_t seed, double low = -1,
                     double high = 1);
Tensor to_double(const Tensor& t);
std::vector<double> values_of(const Tensor& t);
// The largest |a - b| / max(1, |a|, |b|); infinity where the sizes differ.
double difference(const Tensor& a, const std::vector<double>& b);

}  // namespace paddle::test
