#include "layers/activations.h"

namespace paddle {

std::string unary(const Builder& b, std::string_view op, const std::string& x, Attrs attrs,
                  const std::string& name) {
  return Layer(b, op, name).op(op, {{"X", {x}}}, std::move(attrs));
}

std::string softmax(const Builder& b, const std::string& x, int32_t axis, const std::string& name) {
  return unary(b, "softmax", x, {{"axis", axis}}, name);
}

std::string leaky_relu(const Builder& b, const std::string& x, float alpha) {
  return unary(b, "leaky_relu", x, {{"alpha", alpha}});
}

std::string elu(const Builder& b, const std::string& x, float alpha) {
  return unary(b, "elu", x, {{"alpha", alpha}});
}

std::string relu6(const Builder& b, const std::string& x, float threshold) {
  return unary(b, "relu6", x, {{"threshold", threshold}});
}

std::string pow(const Builder& b, const std::string& x, float factor) {
  return unary(b, "pow", x, {{"factor", factor}});
}

std::string stanh(const Builder& b, const std::string& x, float scale_a, float scale_b) {
  return unary(b, "stanh", x, {{"scale_a", scale_a}, {"scale_b", scale_b}});
}

std::string hard_sigmoid(const Builder& b, const std::string& x, float slope, float offset) {
  return unary(b, "hard_sigmoid", x, {{"slope", slope}, {"offset", offset}});
}

std::string swish(const Builder& b, const std::string& x, float beta) {
  return unary(b, "swish", x, {{"beta", beta}});
}

std::string brelu(const Builder& b, const std::string& x, float t_min, float t_max) {
  return unary(b, "brelu", x, {{"t_min", t_min}, {"t_max", t_max}});
}

std::string soft_relu(const Builder& b, const std::string& x, float threshold) {
  return unary(b, "soft_relu", x, {{"threshold", threshold}});
}

}  // namespace paddle
