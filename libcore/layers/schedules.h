// Learning rates that change with the step. Each returns the name of a variable of shape [1] to
// give to an optimizer. All share the counter @LR_DECAY_COUNTER@ (int64, in saved checkpoints),
// which the first op of the program increments: the first step is 0, for noam_decay 1.
#pragma once

#include <string>
#include <vector>

#include "layers/builder.h"
#include "layers/optimizers.h"

namespace paddle {

inline constexpr const char* lr_counter_name = "@LR_DECAY_COUNTER@";

// rate * decay_rate ^ (step / decay_steps); staircase takes the floor of the exponent.
std::string exponential_decay(const Builder& b, float learning_rate, float decay_steps,
                              float decay_rate, bool staircase = false);
// rate * e ^ (-decay_rate * step / decay_steps)
std::string natural_exp_decay(const Builder& b, float learning_rate, float decay_steps,
                              float decay_rate, bool staircase = false);
// rate / (1 + decay_rate * step / decay_steps)
std::string inverse_time_decay(const Builder& b, float learning_rate, float decay_steps,
                               float decay_rate, bool staircase = false);

struct PolynomialOptions {
  float end_learning_rate = 0.0001f, power = 1;
  bool cycle = false;  // start again, with a longer period, where the end is reached
};
// (rate - end) * (1 - min(step, decay_steps) / decay_steps) ^ power + end
std::string polynomial_decay(const Builder& b, float learning_rate, float decay_steps,
                             const PolynomialOptions& options = {});

// values[i] while step < boundaries[i], then the last value: one value more than boundaries.
std::string piecewise_decay(const Builder& b, const std::vector<int64_t>& boundaries,
                            const std::vector<float>& values);
// d_model ^ -0.5 * min(step ^ -0.5, step * warmup_steps ^ -1.5)
std::string noam_decay(const Builder& b, float d_model, float warmup_steps);
// rate / 2 * (cos(epoch * pi / epochs) + 1), where epoch = floor(step / step_each_epoch)
std::string cosine_decay(const Builder& b, float learning_rate, float step_each_epoch,
                         float epochs);
// From start_lr to end_lr over warmup_steps, then the given rate.
std::string linear_lr_warmup(const Builder& b, const LearningRate& learning_rate,
                             float warmup_steps, float start_lr, float end_lr);

}  // namespace paddle
