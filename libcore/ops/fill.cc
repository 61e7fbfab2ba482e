// Ops that make values from nothing: constants and random numbers.
#include <algorithm>
#include <random>

#include "ops/common.h"

namespace paddle {
namespace {

Shape shape_attr(const Infer& i) {
  const auto dims = i.attr<Longs>("shape");
  return Shape(std::span<const int64_t>(dims));
}

void infer_fill(Infer& i) { i.out("Out", shape_attr(i), dtype_attr(i.op().attrs, "dtype")); }

template <class T>
void fill(const View& out, float value) {
  std::fill_n(out.as<T>(), out.numel(), static_cast<T>(value));
}

Kernel bind_fill_constant(const Bind& b) {
  const Arg out = b.out("Out");
  const auto value = b.attr<float>("value");
  return with_dtype(b.out_dtype("Out"), [&](auto t) -> Kernel {
    return [=](const Run& r) { fill<decltype(t)>(r[out], value); };
  });
}

void infer_fill_like_batch(Infer& i) {
  Shape shape = shape_attr(i);
  const auto from = i.attr<int32_t>("input_dim_idx"), to = i.attr<int32_t>("output_dim_idx");
  const Shape& input = i.shape("Input");
  i.check(from >= 0 && from < input.rank(), "input_dim_idx ", from, " is outside of ",
          i.tell("Input"));
  i.check(to >= 0 && to < shape.rank(), "output_dim_idx ", to, " is outside of the shape ", shape);
  shape[to] = input[from];
  i.out("Out", shape, dtype_attr(i.op().attrs, "dtype"));
}

Kernel bind_zeros_like(const Bind& b) {
  const Arg out = b.out("Out");
  return with_dtype(b.out_dtype("Out"), [&](auto t) -> Kernel {
    return [=](const Run& r) { fill<decltype(t)>(r[out], 0); };
  });
}

// Fluid's rule: the op's own seed, else the program's, else a new one each time.
uint32_t seed_of(const Bind& b) {
  const auto own = static_cast<uint32_t>(b.attr<int32_t>("seed"));
  if (own != 0) return own;
  return b.program_seed() != 0 ? b.program_seed() : std::random_device{}();
}

// The engine and the distributions are Fluid's own, drawn one after the other, so that equal seeds
// give equal values.
template <class Distribution, class T>
Kernel draw(Arg out, uint32_t seed, T a, T b) {
  return [=](const Run& r) {
    std::minstd_rand engine(seed);
    Distribution dist(a, b);
    T* p = r[out].as<T>();
    for (int64_t k = 0, n = r[out].numel(); k < n; ++k) p[k] = dist(engine);
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

constexpr int32_t f32 = static_cast<int32_t>(DType::f32);

}  // namespace

std::vector<OpDef> fill_ops() {
  return {
      {.type = "fill_constant",
       .in = {},
       .out = {{"Out"}},
       .attrs = {{"shape", Longs{}}, {"value", 0.0f}, {"dtype", f32}, {"force_cpu", false}},
       .infer = infer_fill,
       .bind = bind_fill_constant},
      {.type = "fill_constant_batch_size_like",
       .in = {{"Input"}},
       .out = {{"Out"}},
       .attrs = {{"shape", Longs{}},
                 {"value", 0.0f},
                 {"dtype", f32},
                 {"input_dim_idx", 0},
                 {"output_dim_idx", 0},
                 {"force_cpu", false}},
       .infer = infer_fill_like_batch,
       .bind = bind_fill_constant,
       .shape_only = {"Input"}},
      {.type = "fill_zeros_like",
       .in = {{"X"}},
       .out = {{"Out"}},
       .infer = infer_same,
       .bind = bind_zeros_like,
       .shape_only = {"X"}},
      {.type = "uniform_random",
       .in = {},
       .out = {{"Out"}},
       .attrs = {{"shape", Longs{}}, {"min", -1.0f}, {"max", 1.0f}, {"seed", 0}, {"dtype", f32}},
       .infer = infer_fill,
       .bind = bind_uniform},
      {.type = "gaussian_random",
       .in = {},
       .out = {{"Out"}},
       .attrs = {{"shape", Longs{}},
                 {"mean", 0.0f},
                 {"std", 1.0f},
                 {"seed", 0},
                 {"dtype", f32},
                 {"use_mkldnn", false}},
       .infer = infer_fill,
       .bind = bind_gaussian},
  };
}

}  // namespace paddle
