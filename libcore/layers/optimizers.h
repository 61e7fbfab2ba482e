// Optimizers: what follows the loss. minimize() appends the backward ops, then clips, regularises
// and updates, parameters in the order of their names; the transpiler finds its work by the roles
// that are set here.
#pragma once

#include <set>
#include <string>
#include <variant>
#include <vector>

#include "graph/backward.h"
#include "layers/builder.h"

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

// `name` stands in front of the names of the optimizer's state.
struct Sgd {
  LearningRate learning_rate;
  Regularizer regularization = {};
  std::string name = {};
};
struct Momentum {
  LearningRate learning_rate;
  float momentum = 0.9f;
  bool use_nesterov = false;
  Regularizer regularization = {};
  std::string name = {};
};
struct Adagrad {
  LearningRate learning_rate;
  float epsilon = 1e-6f;
  float initial_accumulator_value = 0;
  Regularizer regularization = {};
  std::string name = {};
};
struct Adam {
  LearningRate learning_rate = 0.001;
  float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f;
  bool lazy_mode = false;  // sparse gradients touch only the state of their own rows
  Regularizer regularization = {};
  std::string name = {};
};
struct Adamax {
  LearningRate learning_rate = 0.001;
  float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f;
  Regularizer regularization = {};
  std::string name = {};
};
struct DecayedAdagrad {
  LearningRate learning_rate;
  float decay = 0.95f, epsilon = 1e-6f;
  Regularizer regularization = {};
  std::string name = {};
};
struct RmsProp {
  LearningRate learning_rate;
  float rho = 0.95f, epsilon = 1e-6f, momentum = 0;
  bool centered = false;
  Regularizer regularization = {};
  std::string name = {};
};
struct Adadelta {  // its rule has no learning rate; the variable is made all the same
  LearningRate learning_rate;
  float epsilon = 1e-6f, rho = 0.95f;
  Regularizer regularization = {};
  std::string name = {};
};
struct Ftrl {
  LearningRate learning_rate;
  float l1 = 0, l2 = 0, lr_power = -0.5f;
  Regularizer regularization = {};
  std::string name = {};
};

using Optimizer =
    std::variant<Sgd, Momentum, Adagrad, Adam, Adamax, DecayedAdagrad, RmsProp, Adadelta, Ftrl>;

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
