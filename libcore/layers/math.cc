// Arithmetic layers.
#include "layers/layers.h"

namespace paddle {

std::string elementwise(const Builder& b, const std::string& op, const std::string& x,
                        const std::string& y, const ElementwiseOptions& options) {
  const std::string type = "elementwise_" + op;
  const Layer layer(b, type, options.name);
  return layer.activate(layer.op(type, {{"X", {x}}, {"Y", {y}}}, {{"axis", options.axis}}),
                        options.act);
}

std::string elementwise_add(const Builder& b, const std::string& x, const std::string& y,
                            const ElementwiseOptions& options) {
  return elementwise(b, "add", x, y, options);
}
std::string elementwise_sub(const Builder& b, const std::string& x, const std::string& y,
                            const ElementwiseOptions& options) {
  return elementwise(b, "sub", x, y, options);
}
std::string elementwise_mul(const Builder& b, const std::string& x, const std::string& y,
                            const ElementwiseOptions& options) {
  return elementwise(b, "mul", x, y, options);
}
std::string elementwise_div(const Builder& b, const std::string& x, const std::string& y,
                            const ElementwiseOptions& options) {
  return elementwise(b, "div", x, y, options);
}
std::string elementwise_max(const Builder& b, const std::string& x, const std::string& y,
                            const ElementwiseOptions& options) {
  return elementwise(b, "max", x, y, options);
}
std::string elementwise_min(const Builder& b, const std::string& x, const std::string& y,
                            const ElementwiseOptions& options) {
  return elementwise(b, "min", x, y, options);
}
std::string elementwise_pow(const Builder& b, const std::string& x, const std::string& y,
                            const ElementwiseOptions& options) {
  return elementwise(b, "pow", x, y, options);
}

std::string elementwise_mod(const Builder& b, const std::string& x, const std::string& y,
                            const ElementwiseOptions& options) {
  return elementwise(b, "mod", x, y, options);
}
std::string elementwise_floordiv(const Builder& b, const std::string& x, const std::string& y,
                                 const ElementwiseOptions& options) {
  return elementwise(b, "floordiv", x, y, options);
}

std::string matmul(const Builder& b, const std::string& x, const std::string& y,
                   const MatmulOptions& options) {
  return Layer(b, "matmul", options.name)
      .op("matmul", {{"X", {x}}, {"Y", {y}}},
          {{"transpose_X", options.transpose_x},
           {"transpose_Y", options.transpose_y},
           {"alpha", options.alpha}});
}

std::string mul(const Builder& b, const std::string& x, const std::string& y,
                const MulOptions& options) {
  return Layer(b, "mul", options.name)
      .op("mul", {{"X", {x}}, {"Y", {y}}},
          {{"x_num_col_dims", options.x_num_col_dims}, {"y_num_col_dims", options.y_num_col_dims}});
}

std::string scale(const Builder& b, const std::string& x, const ScaleOptions& options) {
  const Layer layer(b, "scale", options.name);
  return layer.activate(layer.op("scale", {{"X", {x}}},
                                 {{"scale", options.scale},
                                  {"bias", options.bias},
                                  {"bias_after_scale", options.bias_after_scale}}),
                        options.act);
}

std::string clip(const Builder& b, const std::string& x, float min, float max,
                 const std::string& name) {
  require(min <= max, Error::Kind::config, "clip of '", x, "': min ", min, " is above max ", max);
  return unary(b, "clip", x, {{"min", min}, {"max", max}}, name);
}

std::string clip_by_norm(const Builder& b, const std::string& x, float max_norm,
                         const std::string& name) {
  return unary(b, "clip_by_norm", x, {{"max_norm", max_norm}}, name);
}

std::string sum(const Builder& b, const Inputs& x) {
  return Layer(b, "sum").op("sum", {{"X", x.names}});
}

std::string sums(const Builder& b, const Inputs& input, const std::string& out) {
  if (out.empty()) return sum(b, input);
  b.op({.type = "sum", .in = {{"X", input.names}}, .out = {{"Out", {out}}}});
  return out;
}

std::string reduce(const Builder& b, const std::string& op, const std::string& input,
                   const ReduceOptions& options) {
  const std::string type = "reduce_" + op;
  return Layer(b, type, options.name)
      .op(type, {{"X", {input}}},
          {{"dim", options.dim.empty() ? Ints{0} : options.dim},
           {"keep_dim", options.keep_dim},
           {"reduce_all", options.dim.empty()}});
}

std::string reduce_sum(const Builder& b, const std::string& input, const ReduceOptions& options) {
  return reduce(b, "sum", input, options);
}
std::string reduce_mean(const Builder& b, const std::string& input, const ReduceOptions& options) {
  return reduce(b, "mean", input, options);
}
std::string reduce_max(const Builder& b, const std::string& input, const ReduceOptions& options) {
  return reduce(b, "max", input, options);
}
std::string reduce_min(const Builder& b, const std::string& input, const ReduceOptions& options) {
  return reduce(b, "min", input, options);
}
std::string reduce_prod(const Builder& b, const std::string& input, const ReduceOptions& options) {
  return reduce(b, "prod", input, options);
}

namespace {

// A truth value: nothing can be differentiated through it.
std::string truth(const Builder& b, const std::string& op, Slots in, const LogicalOptions& o) {
  const Layer layer(b, op, o.name);
  const std::string out = o.out.empty() ? layer.tmp() : o.out;
  b.op({.type = op, .in = std::move(in), .out = {{"Out", {out}}}});
  b.var(out).stop_gradient = true;
  return out;
}

}  // namespace

std::string compare(const Builder& b, const std::string& op, const std::string& x,
                    const std::string& y, const std::string& out) {
  return truth(b, op, {{"X", {x}}, {"Y", {y}}}, {.out = out});
}

std::string logical(const Builder& b, const std::string& op, const std::string& x,
                    const std::string& y, const LogicalOptions& options) {
  return truth(b, op, {{"X", {x}}, {"Y", {y}}}, options);
}

std::string logical_not(const Builder& b, const std::string& x, const LogicalOptions& options) {
  return truth(b, "logical_not", {{"X", {x}}}, options);
}

std::string isfinite(const Builder& b, const Inputs& x) {
  return truth(b, "isfinite", {{"X", x.names}}, {});
}

}  // namespace paddle
