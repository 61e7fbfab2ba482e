// Differentiation: adds gradient ops for a loss.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "graph/program.h"

namespace paddle {

struct ParamGrad {
  std::string param, grad;
};

// Appends the backward ops of `loss` (shape [1]) to the global block and returns the trainable
// parameters that it depends on with their gradients, in order of creation. `parameters` limits
// them; gradients do not flow into variables with stop_gradient or named in `no_grad`. Where
// several ops contribute to one gradient, the parts are named X@GRAD@RENAME@i and summed by one
// `sum` op. The loss op gets role Forward|Loss, the first gradient Backward|Loss.
std::vector<ParamGrad> append_backward(Program& program, const std::string& loss,
                                       const Names& parameters = {},
                                       const std::set<std::string>& no_grad = {});

// Gradients of `targets` with respect to any `inputs`; "" where an input has none.
Names append_gradients(Program& program, const Names& targets, const Names& inputs,
                       const Names& target_gradients = {},
                       const std::set<std::string>& no_grad = {});

// The gradient ops of one op as its definition says, with outputs that are not wanted named
// @EMPTY@.
std::vector<Op> grad_ops(const Op& forward, const std::function<bool(const std::string&)>& want);

}  // namespace paddle
