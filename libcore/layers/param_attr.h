// How a layer's parameter is to be: its name, its first value, how it learns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "graph/var.h"

namespace paddle {

// First values. A seed of 0 means the program's random_seed; if that is 0 too, every run differs.
namespace init {
struct Constant {
  float value = 0;
};
struct Uniform {
  float low = -1, high = 1;
  int32_t seed = 0;
};
struct Normal {
  float loc = 0, scale = 1;
  int32_t seed = 0;
};
struct TruncatedNormal {  // a normal that draws again beyond two standard deviations
  float loc = 0, scale = 1;
  int32_t seed = 0;
};
// Keeps the variance of values and gradients through a layer; fan_in and fan_out come from the
// shape where they are not given.
struct Xavier {
  bool uniform = true;
  std::optional<float> fan_in, fan_out;
  int32_t seed = 0;
};
struct Msra {  // the same for layers followed by relu
  bool uniform = true;
  std::optional<float> fan_in;
  int32_t seed = 0;
};
struct Bilinear {};  // upsampling weights of a square [C_out, C_in, k, k] filter
struct Values {      // given ones, in row-major order
  std::vector<float> values;
};
}  // namespace init

using Initializer = std::variant<init::Constant, init::Uniform, init::Normal, init::TruncatedNormal,
                                 init::Xavier, init::Msra, init::Bilinear, init::Values>;

inline Regularizer l1_decay(float coeff) { return {Regularizer::Kind::l1, coeff}; }
inline Regularizer l2_decay(float coeff) { return {Regularizer::Kind::l2, coeff}; }

inline GradientClip clip_by_value(float max, float min) {
  return {GradientClip::Kind::value, max, min};
}
inline GradientClip clip_by_value(float max) { return clip_by_value(max, -max); }
inline GradientClip clip_by_norm(float norm) { return {GradientClip::Kind::norm, norm, 0}; }
// All parameters of one group are scaled together, so that their joint norm stays below `norm`.
inline GradientClip clip_by_global_norm(float norm, std::string group = "default_group") {
  return {GradientClip::Kind::global_norm, norm, 0, std::move(group)};
}

struct ParamAttr {
  std::string name = {};                        // "" = made of the layer's name: "fc_0.w_0"
  std::optional<Initializer> initializer = {};  // absent = the layer's own choice
  float learning_rate = 1;                      // factor on the optimizer's
  Regularizer regularizer = {};                 // overrides the optimizer's
  bool trainable = true;
  GradientClip gradient_clip = {};
  bool do_model_average = true;
  std::optional<TableSpec> table = {};  // it is a sparse table, whose rows are kept so
  bool absent = false;                  // set by none()

  // No parameter at all: a layer without bias.
  static ParamAttr none() { return {.absent = true}; }
};

}  // namespace paddle
