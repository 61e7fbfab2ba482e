#include <cmath>

#include "layers/builder.h"

namespace paddle {
namespace {

struct Fans {
  double in, out;
};

// Inputs and outputs that meet in one weight: for a filter [C_out, C_in, h, w] its whole window.
Fans fans_of(const Shape& s) {
  if (s.rank() == 0) return {1, 1};
  if (s.rank() == 1) return {static_cast<double>(s[0]), static_cast<double>(s[0])};
  if (s.rank() == 2 && s[0] < 0)  // a table of any height: rows alone count
    return {static_cast<double>(s[1]), static_cast<double>(s[1])};
  if (s.rank() == 2) return {static_cast<double>(s[0]), static_cast<double>(s[1])};
  const auto window = static_cast<double>(s.product(2, s.rank()));
  return {static_cast<double>(s[1]) * window, static_cast<double>(s[0]) * window};
}

Op random_op(const Var& v, std::string type, Attrs attrs) {
  Op op{.type = std::move(type), .out = {{"Out", {v.name}}}, .attrs = std::move(attrs)};
  op.attrs.set("shape", longs(v.shape));
  op.attrs.set("dtype", dtype_number(v.dtype));
  return op;
}

Op make(const Var& v, const init::Constant& c) {
  return random_op(v, "fill_constant", {{"value", c.value}});
}

Op make(const Var& v, const init::Uniform& u) {
  return random_op(v, "uniform_random", {{"min", u.low}, {"max", u.high}, {"seed", u.seed}});
}

Op make(const Var& v, const init::Normal& n) {
  return random_op(v, "gaussian_random", {{"mean", n.loc}, {"std", n.scale}, {"seed", n.seed}});
}

Op make(const Var& v, const init::TruncatedNormal& n) {
  return random_op(v, "truncated_gaussian_random",
                   {{"mean", n.loc}, {"std", n.scale}, {"seed", n.seed}});
}

Op uniform_or_normal(const Var& v, bool uniform, double variance, int32_t seed) {
  const auto limit = static_cast<float>(std::sqrt(3 * variance));
  if (uniform) return make(v, init::Uniform{-limit, limit, seed});
  return make(v, init::Normal{0, static_cast<float>(std::sqrt(variance)), seed});
}

Op make(const Var& v, const init::Xavier& x) {
  const Fans fans = fans_of(v.shape);
  const double in = x.fan_in.value_or(static_cast<float>(fans.in));
  const double out = x.fan_out.value_or(static_cast<float>(fans.out));
  return uniform_or_normal(v, x.uniform, 2 / (in + out), x.seed);
}

Op make(const Var& v, const init::Msra& m) {
  const double in = m.fan_in.value_or(static_cast<float>(fans_of(v.shape).in));
  return uniform_or_normal(v, m.uniform, 2 / in, m.seed);
}

Op make(const Var& v, const init::Values& given) {
  require(static_cast<int64_t>(given.values.size()) == v.shape.numel(), Error::Kind::config,
          "the variable '", v.name, "' of shape ", v.shape, " needs ", v.shape.numel(),
          " first values, found ", given.values.size());
  Op op = random_op(v, "assign_value", {});
  op.attrs.set("shape", Ints(v.shape.begin(), v.shape.end()));
  if (v.dtype == DType::i32)
    op.attrs.set("int32_values", Ints(given.values.begin(), given.values.end()));
  else
    op.attrs.set("fp32_values", given.values);
  return op;
}

Op make(const Var& v, const init::Bilinear&) {
  const Shape& s = v.shape;
  require(s.rank() == 4 && s[2] == s[3], Error::Kind::config,
          "the bilinear first value needs a square filter [C_out, C_in, k, k], found ", s, " for '",
          v.name, "'");
  const int64_t k = s[3];
  const double half = std::ceil(static_cast<double>(k) / 2);
  const double center =
      (2 * half - 1 - static_cast<double>(static_cast<int64_t>(half) % 2)) / (2 * half);
  init::Values out;
  for (int64_t i = 0; i < s.numel(); ++i) {
    const auto x = static_cast<double>(i % k), y = static_cast<double>(i / k % k);
    out.values.push_back(
        static_cast<float>((1 - std::abs(x / half - center)) * (1 - std::abs(y / half - center))));
  }
  return make(v, out);
}

}  // namespace

void initialize(Program& startup, const Var& var, const Initializer& how) {
  startup.global().insert(0, std::visit([&](const auto& h) { return make(var, h); }, how));
}

}  // namespace paddle
