// Activations and other functions of one variable, element by element.
#pragma once

#include <string>
#include <string_view>

#include "layers/builder.h"

namespace paddle {

// op(x) for an op with one input X and one output Out.
std::string unary(const Builder& b, std::string_view op, const std::string& x, Attrs attrs = {},
                  const std::string& name = {});

// The ops that take no attribute.
inline constexpr std::string_view plain_activations[] = {
    "relu",     "sigmoid",  "tanh",       "exp",         "log",  "sqrt",  "square",
    "abs",      "ceil",     "floor",      "cos",         "sin",  "round", "reciprocal",
    "softplus", "softsign", "logsigmoid", "tanh_shrink", "gelu", "rsqrt", "sign"};

std::string softmax(const Builder& b, const std::string& x, int32_t axis = -1,
                    const std::string& name = {});
inline std::string relu(const Builder& b, const std::string& x) { return unary(b, "relu", x); }
inline std::string sigmoid(const Builder& b, const std::string& x) {
  return unary(b, "sigmoid", x);
}
inline std::string tanh(const Builder& b, const std::string& x) { return unary(b, "tanh", x); }
inline std::string exp(const Builder& b, const std::string& x) { return unary(b, "exp", x); }
inline std::string log(const Builder& b, const std::string& x) { return unary(b, "log", x); }
inline std::string sqrt(const Builder& b, const std::string& x) { return unary(b, "sqrt", x); }
inline std::string square(const Builder& b, const std::string& x) { return unary(b, "square", x); }
inline std::string abs(const Builder& b, const std::string& x) { return unary(b, "abs", x); }
inline std::string ceil(const Builder& b, const std::string& x) { return unary(b, "ceil", x); }
inline std::string floor(const Builder& b, const std::string& x) { return unary(b, "floor", x); }
inline std::string cos(const Builder& b, const std::string& x) { return unary(b, "cos", x); }
inline std::string sin(const Builder& b, const std::string& x) { return unary(b, "sin", x); }
inline std::string round(const Builder& b, const std::string& x) { return unary(b, "round", x); }
inline std::string reciprocal(const Builder& b, const std::string& x) {
  return unary(b, "reciprocal", x);
}
inline std::string softplus(const Builder& b, const std::string& x) {
  return unary(b, "softplus", x);
}
inline std::string softsign(const Builder& b, const std::string& x) {
  return unary(b, "softsign", x);
}
inline std::string logsigmoid(const Builder& b, const std::string& x) {
  return unary(b, "logsigmoid", x);
}
inline std::string gelu(const Builder& b, const std::string& x) { return unary(b, "gelu", x); }

std::string leaky_relu(const Builder& b, const std::string& x, float alpha = 0.02f);
std::string elu(const Builder& b, const std::string& x, float alpha = 1);
std::string relu6(const Builder& b, const std::string& x, float threshold = 6);
std::string pow(const Builder& b, const std::string& x, float factor = 1);
std::string stanh(const Builder& b, const std::string& x, float scale_a = 2.0f / 3.0f,
                  float scale_b = 1.7159f);
std::string hard_sigmoid(const Builder& b, const std::string& x, float slope = 0.2f,
                         float offset = 0.5f);
std::string swish(const Builder& b, const std::string& x, float beta = 1);
std::string brelu(const Builder& b, const std::string& x, float t_min = 0, float t_max = 24);
std::string soft_relu(const Builder& b, const std::string& x, float threshold = 40);

}  // namespace paddle
