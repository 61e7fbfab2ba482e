// Random values: uniform, normal and truncated normal, in a given shape or in that of a batch.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
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

// The value below which a standard normal number lies with probability p, 0 < p < 1. Newton's
// method on the distribution function; from 0 it converges for |x| < 3, where we use it.
double normal_quantile(double p) {
  constexpr double density_at_0 = 0.3989422804014327;
  double x = 0;
  for (int k = 0; k < 50; ++k) {
    const double error = 0.5 * std::erfc(-x / std::numbers::sqrt2) - p;
    const double step = error / (density_at_0 * std::exp(-0.5 * x * x));
    x -= std::clamp(step, -0.5, 0.5);
    if (std::abs(step) < 1e-12) break;
  }
  return x;
}

// Fluid's engine and its inverse transform of uniform numbers, so that equal seeds give equal
// values.
Kernel bind_truncated(const Bind& b) {
  const Arg out = b.out("Out");
  const uint32_t seed = seed_of(b);
  const double mean = b.attr<float>("mean"), deviation = b.attr<float>("std");
  return with_float(b.out_dtype("Out"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      std::minstd_rand engine(seed);
      std::uniform_real_distribution<T> uniform(std::numeric_limits<float>::min(), 1);
      const double low = 0.5 * std::erfc(std::numbers::sqrt2), high = 1 - low;  // at -2 and at 2
      T* p = r[out].as<T>();
      for (int64_t k = 0, n = r[out].numel(); k < n; ++k) {
        const double u = low + (high - low) * static_cast<double>(uniform(engine));
        p[k] = static_cast<T>(mean + deviation * std::clamp(normal_quantile(u), -2.0, 2.0));
      }
    };
  });
}

// The engine and the distributions are Fluid's own, drawn one after the other.
template <class Distribution, class T>
Kernel draw(Arg out, uint32_t seed, T a, T b) {
  return [=](const Run& r) {
    std::minstd_rand engine(seed);
    Distribution distribution(a, b);
    T* p = r[out].as<T>();
    for (int64_t k = 0, n = r[out].numel(); k < n; ++k) p[k] = distribution(engine);
  };
}

Kernel bind_uniform(const Bind& b) {
  return with_float(b.out_dtype("Out"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return draw<std::uniform_real_distribution<T>, T>(b.out("Out"), seed_of(b),
                                                      b.attr<float>("min"), b.attr<float>("max"));
  });
}

Kernel bind_gaussian(const Bind& b) {
  return with_float(b.out_dtype("Out"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return draw<std::normal_distribution<T>, T>(b.out("Out"), seed_of(b), b.attr<float>("mean"),
                                                b.attr<float>("std"));
  });
}

Attrs with_batch(Attrs attrs) {
  attrs.set("input_dim_idx", 0);
  attrs.set("output_dim_idx", 0);
  return attrs;
}

}  // namespace

std::vector<OpDef> random_ops() {
  const auto f32 = static_cast<int32_t>(DType::f32);
  const Attrs normal{
      {"shape", Longs{}}, {"mean", 0.0f}, {"std", 1.0f}, {"seed", 0}, {"dtype", f32}};
  const Attrs uniform{
      {"shape", Longs{}}, {"min", -1.0f}, {"max", 1.0f}, {"seed", 0}, {"dtype", f32}};
  return {
      {.type = "uniform_random",
       .in = {},
       .out = {{"Out"}},
       .attrs = uniform,
       .infer = infer_shape_attr,
       .bind = bind_uniform},
      {.type = "gaussian_random",
       .in = {},
       .out = {{"Out"}},
       .attrs = normal,
       .infer = infer_shape_attr,
       .bind = bind_gaussian},
      {.type = "truncated_gaussian_random",
       .in = {},
       .out = {{"Out"}},
       .attrs = normal,
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
