// Random values: uniform, normal and truncated normal, in a given shape or in that of a batch.
#include "kernels/random.h"

#include <random>

#include "ops/common.h"

namespace paddle {
namespace {

// Fluid's rule: the op's own seed, else the program's, else a new one each time.
uint32_t seed_of(const Bind& b) {
  const auto own = static_cast<uint32_t>(b.attr<int32_t>("seed"));
  if (own != 0) return own;
  return b.program_seed() != 0 ? b.program_seed() : std::random_device{}();
}

Kernel bind_truncated(const Bind& b) {
  const Arg out = b.out("Out");
  const uint32_t seed = seed_of(b);
  const double mean = b.attr<float>("mean"), deviation = b.attr<float>("std");
  return with_float(b.out_dtype("Out"), [&](auto t) -> Kernel {
    return [=](const Run& r) {
      draw_truncated(r, r[out].numel(), seed, mean, deviation, r[out].as<decltype(t)>());
    };
  });
}

Kernel bind_uniform(const Bind& b) {
  const Arg out = b.out("Out");
  const uint32_t seed = seed_of(b);
  const auto min = b.attr<float>("min"), max = b.attr<float>("max");
  return with_float(b.out_dtype("Out"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      draw_uniform(r, r[out].numel(), seed, T(min), T(max), r[out].as<T>());
    };
  });
}

Kernel bind_gaussian(const Bind& b) {
  const Arg out = b.out("Out");
  const uint32_t seed = seed_of(b);
  const auto mean = b.attr<float>("mean"), deviation = b.attr<float>("std");
  return with_float(b.out_dtype("Out"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      draw_normal(r, r[out].numel(), seed, T(mean), T(deviation), r[out].as<T>());
    };
  });
}

// Saved programs have the shape of these ops as a list of 32-bit numbers.
Attrs with_batch(Attrs attrs) {
  attrs.set("shape", Ints{});
  attrs.set("input_dim_idx", 0);
  attrs.set("output_dim_idx", 0);
  return attrs;
}

}  // namespace

std::vector<OpDef> random_ops() {
  const auto f32 = static_cast<int32_t>(DType::f32);
  const Attrs normal{
      {"shape", Longs{}}, {"mean", 0.0f}, {"std", 1.0f}, {"seed", 0}, {"dtype", f32}};
  Attrs truncated = normal;
  truncated.set("shape", Ints{});
  const Attrs uniform{
      {"shape", Longs{}}, {"min", -1.0f}, {"max", 1.0f}, {"seed", 0}, {"dtype", f32}};
  return {
      {.type = "uniform_random",
       .in = shape_numbers.slots(),
       .out = {{"Out"}},
       .attrs = uniform,
       .infer = infer_shape_attr,
       .bind = bind_uniform,
       .shape_values = shape_numbers.slot_names()},
      {.type = "gaussian_random",
       .in = shape_numbers.slots(),
       .out = {{"Out"}},
       .attrs = normal,
       .infer = infer_shape_attr,
       .bind = bind_gaussian,
       .shape_values = shape_numbers.slot_names()},
      {.type = "truncated_gaussian_random",
       .in = {},
       .out = {{"Out"}},
       .attrs = truncated,
       .infer = infer_shape_attr,
       .bind = bind_truncated},
      {.type = "uniform_random_batch_size_like",
       .in = {{"Input"}},
       .out = {{"Out"}},
       .attrs = with_batch(uniform),
       .infer = infer_shape_like_batch,
       .bind = bind_uniform,
       .shape_only = {"Input"}},
      {.type = "gaussian_random_batch_size_like",
       .in = {{"Input"}},
       .out = {{"Out"}},
       .attrs = with_batch(normal),
       .infer = infer_shape_like_batch,
       .bind = bind_gaussian,
       .shape_only = {"Input"}},
  };
}

}  // namespace paddle
