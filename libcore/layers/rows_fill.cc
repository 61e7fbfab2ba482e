#include "layers/rows.h"

namespace paddle {
namespace {

// What makes a tensor of nothing: shape and element type.
struct Filled {
  Shape shape;
  DType dtype = DType::f32;
  void declare(Arguments& a, const char* meaning = "of the result") {
    a.required("shape", shape, meaning);
    a.optional("dtype", dtype, "element type");
  }
};

// One length comes from another variable.
struct Like {
  Ref input;
  BatchSizeLikeOptions batch;
  void declare(Arguments& a) {
    a.required("input", input, "gives the batch size");
    a.optional("input_dim_idx", batch.input_dim_idx, "dimension of the input that is taken");
    a.optional("output_dim_idx", batch.output_dim_idx, "dimension of the result that gets it");
  }
};

constexpr const char* replaced = "of the result; one length is replaced";

Make declare_fill_constant(Arguments& a, const Resolve& at) {
  Filled f;
  float value = 0;
  Ref out;
  f.declare(a);
  a.required("value", value, "of each element");
  declare_out(a, out);
  return [=](const Builder& b) -> Names {
    return {fill_constant(b, f.shape, f.dtype, value, resolved(at, out))};
  };
}

Make declare_fill_batch(Arguments& a, const Resolve& at) {
  Filled f;
  Like like;
  float value = 0;
  like.declare(a);
  f.declare(a, replaced);
  a.required("value", value, "of each element");
  return [=](const Builder& b) -> Names {
    return {
        fill_constant_batch_size_like(b, at(like.input.name), f.shape, f.dtype, value, like.batch)};
  };
}

template <std::string (*fill)(const Builder&, const Shape&, DType)>
Make declare_fill(Arguments& a, const Resolve&) {
  Filled f;
  f.declare(a);
  return [=](const Builder& b) -> Names { return {fill(b, f.shape, f.dtype)}; };
}

Make declare_zeros_like(Arguments& a, const Resolve& at) {
  Ref input, out;
  a.required("input", input, "gives shape and element type");
  declare_out(a, out);
  return
      [=](const Builder& b) -> Names { return {zeros_like(b, at(input.name), resolved(at, out))}; };
}

Make declare_assign_value(Arguments& a, const Resolve& at) {
  Filled f;
  Floats values;
  Ref out;
  f.declare(a);
  a.required("values", values, "in row-major order");
  declare_out(a, out);
  return [=](const Builder& b) -> Names {
    return {assign_value(b, f.shape, f.dtype, values, resolved(at, out))};
  };
}

Make declare_create_parameter(Arguments& a, const Resolve&) {
  Shape shape;
  CreateParameterOptions o;
  a.required("shape", shape, "of the parameter");
  a.optional("dtype", o.dtype, "element type");
  a.optional("name", o.name, "of the parameter");
  a.optional("attr", o.attr, "the parameter");
  a.optional("is_bias", o.is_bias, "starts with 0, not with Xavier's values");
  a.optional("is_distributed", o.is_distributed, "a sparse table, for lookups alone");
  return [=](const Builder& b) -> Names { return {create_parameter(b, shape, o)}; };
}

Make declare_create_global_var(Arguments& a, const Resolve&) {
  Filled f;
  float value = 0;
  GlobalVarOptions o;
  f.declare(a);
  a.required("value", value, "of each element, at the start");
  a.optional("persistable", o.persistable, "it lives from run to run");
  a.optional("name", o.name, "of the variable");
  return
      [=](const Builder& b) -> Names { return {create_global_var(b, f.shape, value, f.dtype, o)}; };
}

Make declare_increment(Arguments& a, const Resolve& at) {
  Ref input;
  float value = 1;
  bool in_place = true;
  a.required("input", input, "a variable of one element");
  a.optional("value", value, "what is added");
  a.optional("in_place", in_place, "change the variable itself");
  return [=](const Builder& b) -> Names { return {increment(b, at(input.name), value, in_place)}; };
}

void declare_bounds(Arguments& a, UniformOptions& o) {
  a.optional("min", o.min, "smallest value");
  a.optional("max", o.max, "largest value");
  a.optional("seed", o.seed, "0 = the program's");
}

void declare_bounds(Arguments& a, GaussianOptions& o) {
  a.optional("mean", o.mean, "of the values");
  a.optional("std", o.std, "standard deviation of the values");
  a.optional("seed", o.seed, "0 = the program's");
}

template <class Options, std::string (*fill)(const Builder&, const Shape&, const Options&)>
Make declare_random(Arguments& a, const Resolve&) {
  Filled f;
  Options o;
  f.declare(a);
  declare_bounds(a, o);
  o.dtype = f.dtype;
  return [=](const Builder& b) -> Names { return {fill(b, f.shape, o)}; };
}

template <class Options, std::string (*fill)(const Builder&, const std::string&, const Shape&,
                                             const Options&, const BatchSizeLikeOptions&)>
Make declare_random_like(Arguments& a, const Resolve& at) {
  Like like;
  Filled f;
  Options o;
  like.declare(a);
  f.declare(a, replaced);
  declare_bounds(a, o);
  o.dtype = f.dtype;
  return [=](const Builder& b) -> Names {
    return {fill(b, at(like.input.name), f.shape, o, like.batch)};
  };
}

}  // namespace

std::vector<LayerRow> fill_rows() {
  return {
      {"fill_constant", "equal elements", declare_fill_constant},
      {"fill_constant_batch_size_like", "equal elements, as many rows as the input",
       declare_fill_batch},
      {"zeros", "all 0", declare_fill<zeros>},
      {"ones", "all 1", declare_fill<ones>},
      {"zeros_like", "all 0, in the shape of the input", declare_zeros_like},
      {"assign_value", "given elements", declare_assign_value},
      {"create_parameter", "a parameter without a layer", declare_create_parameter},
      {"create_global_var", "a variable with a first value", declare_create_global_var},
      {"increment", "adds to a counter", declare_increment},
      {"uniform_random", "evenly between two values",
       declare_random<UniformOptions, uniform_random>},
      {"gaussian_random", "a normal distribution",
       declare_random<GaussianOptions, gaussian_random>},
      {"uniform_random_batch_size_like", "uniform_random, as many rows as the input",
       declare_random_like<UniformOptions, uniform_random_batch_size_like>},
      {"gaussian_random_batch_size_like", "gaussian_random, as many rows as the input",
       declare_random_like<GaussianOptions, gaussian_random_batch_size_like>},
  };
}

}  // namespace paddle
