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

std::string assign_value(const Builder& b, const Shape& shape, DType dtype, const Floats& values,
                         const std::string& out) {
  require(dtype == DType::f32 || dtype == DType::i32, Error::Kind::config,
          "assign_value makes float32 or int32, not ", name_of(dtype));
  require(static_cast<int64_t>(values.size()) == shape.numel(), Error::Kind::config,
          "assign_value of shape ", shape, " needs ", shape.numel(), " values, found ",
          values.size());
  const std::string result = out.empty() ? Layer(b, "assign_value").tmp() : out;
  Op op{.type = "assign_value",
        .out = {{"Out", {result}}},
        .attrs = {{"shape", Ints(shape.begin(), shape.end())}, {"dtype", dtype_number(dtype)}}};
  if (dtype == DType::i32)
    op.attrs.set("int32_values", Ints(values.begin(), values.end()));
  else
    op.attrs.set("fp32_values", values);
  b.op(std::move(op));
  return result;
}

std::string zeros_like(const Builder& b, const std::string& x, const std::string& out) {
  const std::string result = out.empty() ? Layer(b, "fill_zeros_like").tmp() : out;
  b.op({.type = "fill_zeros_like", .in = {{"X", {x}}}, .out = {{"Out", {result}}}});
  b.var(result).stop_gradient = true;
  return result;
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

std::string uniform_random_batch_size_like(const Builder& b, const std::string& input,
                                           const Shape& shape, const UniformOptions& options,
                                           const BatchSizeLikeOptions& batch) {
  return Layer(b, "uniform_random_batch_size_like")
      .op("uniform_random_batch_size_like", {{"Input", {input}}},
          {{"shape", longs(shape)},
           {"input_dim_idx", batch.input_dim_idx},
           {"output_dim_idx", batch.output_dim_idx},
           {"dtype", dtype_number(options.dtype)},
           {"min", options.min},
           {"max", options.max},
           {"seed", options.seed}});
}

std::string gaussian_random_batch_size_like(const Builder& b, const std::string& input,
                                            const Shape& shape, const GaussianOptions& options,
                                            const BatchSizeLikeOptions& batch) {
  return Layer(b, "gaussian_random_batch_size_like")
      .op("gaussian_random_batch_size_like", {{"Input", {input}}},
          {{"shape", longs(shape)},
           {"input_dim_idx", batch.input_dim_idx},
           {"output_dim_idx", batch.output_dim_idx},
           {"dtype", dtype_number(options.dtype)},
           {"mean", options.mean},
           {"std", options.std},
           {"seed", options.seed}});
}

}  // namespace paddle
