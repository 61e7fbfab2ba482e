// Layers that make values from nothing.
#include "layers/layers.h"

namespace paddle {

std::string fill_constant(const Builder& b, const Shape& shape, DType dtype, float value,
                          const std::string& out) {
  const std::string result = out.empty() ? Layer(b, "fill_constant").tmp() : out;
  b.op({.type = "fill_constant",
        .out = {{"Out", {result}}},
        .attrs = {{"shape", longs(shape)}, {"dtype", dtype_number(dtype)}, {"value", value}}});
  b.var(result).stop_gradient = true;
  return result;
}

std::string fill_constant_batch_size_like(const Builder& b, const std::string& input,
                                          const Shape& shape, DType dtype, float value,
                                          const BatchSizeLikeOptions& options) {
  const std::string out = Layer(b, "fill_constant_batch_size_like")
                              .op("fill_constant_batch_size_like", {{"Input", {input}}},
                                  {{"shape", longs(shape)},
                                   {"dtype", dtype_number(dtype)},
                                   {"value", value},
                                   {"input_dim_idx", options.input_dim_idx},
                                   {"output_dim_idx", options.output_dim_idx}});
  b.var(out).stop_gradient = true;
  return out;
}

std::string zeros(const Builder& b, const Shape& shape, DType dtype) {
  return fill_constant(b, shape, dtype, 0);
}

std::string ones(const Builder& b, const Shape& shape, DType dtype) {
  return fill_constant(b, shape, dtype, 1);
}

std::string create_global_var(const Builder& b, const Shape& shape, float value, DType dtype,
                              const GlobalVarOptions& options) {
  return b.global_var({.name = options.name,
                       .dtype = dtype,
                       .shape = shape,
                       .persistable = options.persistable,
                       .stop_gradient = true},
                      init::Constant{value});
}

std::string increment(const Builder& b, const std::string& x, float value, bool in_place) {
  const std::string out = in_place ? x : Layer(b, "increment").tmp();
  b.op({.type = "increment",
        .in = {{"X", {x}}},
        .out = {{"Out", {out}}},
        .attrs = {{"step", value}}});
  return out;
}

std::string uniform_random(const Builder& b, const Shape& shape, const UniformOptions& options) {
  return Layer(b, "uniform_random")
      .op("uniform_random", {},
          {{"shape", longs(shape)},
           {"dtype", dtype_number(options.dtype)},
           {"min", options.min},
           {"max", options.max},
           {"seed", options.seed}});
}

std::string gaussian_random(const Builder& b, const Shape& shape, const GaussianOptions& options) {
  return Layer(b, "gaussian_random")
      .op("gaussian_random", {},
          {{"shape", longs(shape)},
           {"dtype", dtype_number(options.dtype)},
           {"mean", options.mean},
           {"std", options.std},
           {"seed", options.seed}});
}

}  // namespace paddle
