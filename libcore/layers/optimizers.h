// Optimizers: what follows the loss. minimize() appends the backward ops, then clips, regularises
// and updates, parameters in the order of their names; the transpiler finds its work by the roles
// that are set here.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "graph/backward.h"
#include "layers/builder.h"
#include "optim/description.h"

namespace paddle {

// A number, or the name of a variable that a schedule computes.
struct LearningRate {
  float value = 0;
  std::string var = {};
  LearningRate() = default;
  LearningRate(double number) : value(static_cast<float>(number)) {}
  LearningRate(std::string name) : var(std::move(name)) {}
  LearningRate(const char* name) : var(name) {}
};

class Arguments;

// An optimizer of optim's table with the user's numbers.
struct Optimizer {
  // `keys` are those of job files: "momentum", "epsilon", "l2", "name", … Throws Error(config) for
  // an unknown type, and with all that is wrong with the keys.
  Optimizer(std::string_view type, LearningRate rate, const Dict& keys = {});
  Optimizer(std::string_view type, LearningRate rate, Regularizer decay, const Dict& keys = {});
  // With the defaults of the description.
  explicit Optimizer(const optim::Description& d);

  const optim::Description* rule;  // never null
  LearningRate learning_rate;
  Attrs attrs;                                // of the op: the settings
  std::map<std::string, float> first_values;  // of states, by their key
  Regularizer regularization = {};
  std::string name = {};  // stands in front of the names of the optimizer's state
};

// Declares and reads the keys of an optimizer.
void declare_optimizer(Arguments& a, Optimizer& o);

struct MinimizeOptions {
  Program* startup = nullptr;  // null = the builder's
  Names parameter_list = {};   // empty = all trainable ones
  std::set<std::string> no_grad_set = {};
};

struct Minimized {
  std::vector<Op*> optimize_ops;        // updates and what follows them
  std::vector<ParamGrad> params_grads;  // as the backward pass left them
};

// Makes the program train: `loss` (shape [1]) falls with each run.
Minimized minimize(const Builder& b, const std::string& loss, const Optimizer& optimizer,
                   const MinimizeOptions& options = {});

// The second half alone, for gradients that are there already.
std::vector<Op*> apply_gradients(const Builder& b, const Optimizer& optimizer,
                                 std::vector<ParamGrad> params_grads);

// Sets the clip of the named parameters, or of all that there are.
void set_gradient_clip(Program& program, const GradientClip& clip, const Names& parameters = {});

// Steps of apply_gradients; each returns the pairs with the gradients that follow from it.
std::vector<ParamGrad> append_clip(const Builder& b, const std::vector<ParamGrad>& pairs);
std::vector<ParamGrad> append_regularization(const Builder& b, const std::vector<ParamGrad>& pairs,
                                             const Regularizer& fallback);

}  // namespace paddle
