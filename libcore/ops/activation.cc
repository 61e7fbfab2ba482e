// Activations: y = f(x) element by element. A gradient is written in terms of what its op keeps: y
// where that is enough, else x.
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "kernels/map.h"
#include "kernels/math.h"
#include "kernels/memory.h"
#include "ops/common.h"

namespace paddle {
namespace {

// Each struct is one op: its function f, and its gradient of what is kept (x or y) and dy. One that
// has attributes takes them from the op's Bind.
struct Relu {
  PS_HD auto f(auto x) const { return x > 0 ? x : 0; }
  PS_HD auto grad(auto y, auto dy) const { return y > 0 ? dy : 0; }
};
struct Tanh {
  PS_HD auto f(auto x) const { return paddle::tanh(x); }
  PS_HD auto grad(auto y, auto dy) const { return dy * (1 - y * y); }
};
struct Sigmoid {
  PS_HD auto f(auto x) const { return paddle::sigmoid(x); }
  PS_HD auto grad(auto y, auto dy) const { return dy * y * (1 - y); }
};
struct LogSigmoid {  // the exponent is never positive, so nothing overflows
  PS_HD auto f(auto x) const {
    return (x < 0 ? x : 0) - paddle::log(1 + paddle::exp(-std::abs(x)));
  }
  PS_HD auto grad(auto x, auto dy) const { return dy * paddle::sigmoid(-x); }
};
struct Softplus {
  PS_HD auto f(auto x) const {
    return (x > 0 ? x : 0) + paddle::log(1 + paddle::exp(-std::abs(x)));
  }
  PS_HD auto grad(auto x, auto dy) const { return dy * paddle::sigmoid(x); }
};
struct Softsign {
  PS_HD auto f(auto x) const { return x / (1 + std::abs(x)); }
  PS_HD auto grad(auto x, auto dy) const {
    const auto d = 1 + std::abs(x);
    return dy / (d * d);
  }
};
struct Exp {
  PS_HD auto f(auto x) const { return paddle::exp(x); }
  PS_HD auto grad(auto y, auto dy) const { return dy * y; }
};
struct Log {
  PS_HD auto f(auto x) const { return paddle::log(x); }
  PS_HD auto grad(auto x, auto dy) const { return dy / x; }
};
struct Sqrt {
  PS_HD auto f(auto x) const { return std::sqrt(x); }
  PS_HD auto grad(auto y, auto dy) const { return dy / (2 * y); }
};
struct Rsqrt {
  PS_HD auto f(auto x) const { return 1 / std::sqrt(x); }
  PS_HD auto grad(auto y, auto dy) const { return dy * y * y * y / -2; }
};
struct Abs {
  PS_HD auto f(auto x) const { return std::abs(x); }
  PS_HD auto grad(auto x, auto dy) const { return x > 0 ? dy : x < 0 ? -dy : 0; }
};
struct Square {
  PS_HD auto f(auto x) const { return x * x; }
  PS_HD auto grad(auto x, auto dy) const { return 2 * x * dy; }
};
struct Reciprocal {
  PS_HD auto f(auto x) const { return 1 / x; }
  PS_HD auto grad(auto y, auto dy) const { return -dy * y * y; }
};
struct Cos {
  PS_HD auto f(auto x) const { return std::cos(x); }
  PS_HD auto grad(auto x, auto dy) const { return -dy * std::sin(x); }
};
struct Sin {
  PS_HD auto f(auto x) const { return std::sin(x); }
  PS_HD auto grad(auto x, auto dy) const { return dy * std::cos(x); }
};
struct Floor {
  PS_HD auto f(auto x) const { return std::floor(x); }
};
struct Ceil {
  PS_HD auto f(auto x) const { return std::ceil(x); }
};
struct Round {  // halves away from zero
  PS_HD auto f(auto x) const { return std::round(x); }
};
struct Sign {
  PS_HD auto f(auto x) const { return x > 0 ? 1 : x < 0 ? -1 : 0; }
};

struct LeakyRelu {
  float alpha;
  explicit LeakyRelu(const Bind& b) : alpha(b.attr<float>("alpha")) {}
  PS_HD auto f(auto x) const { return x > 0 ? x : alpha * x; }
  // x and y have one sign; infer_leaky_relu sees to it.
  PS_HD auto grad(auto y, auto dy) const { return y > 0 ? dy : alpha * dy; }
};
struct Relu6 {
  float threshold;
  explicit Relu6(const Bind& b) : threshold(b.attr<float>("threshold")) {}
  PS_HD auto f(auto x) const { return x < 0 ? 0 : x > threshold ? threshold : x; }
  PS_HD auto grad(auto y, auto dy) const { return y > 0 && y < threshold ? dy : 0; }
};
struct Elu {
  float alpha;
  explicit Elu(const Bind& b) : alpha(b.attr<float>("alpha")) {}
  PS_HD auto f(auto x) const { return x > 0 ? x : alpha * (paddle::exp(x) - 1); }
  PS_HD auto grad(auto x, auto dy) const { return x > 0 ? dy : alpha * paddle::exp(x) * dy; }
};
struct Swish {
  float beta;
  explicit Swish(const Bind& b) : beta(b.attr<float>("beta")) {}
  PS_HD auto f(auto x) const { return x * paddle::sigmoid(beta * x); }
  PS_HD auto grad(auto x, auto dy) const {
    const auto s = paddle::sigmoid(beta * x);
    return dy * (s + beta * x * s * (1 - s));
  }
};
struct HardSigmoid {
  float slope, offset;
  explicit HardSigmoid(const Bind& b)
      : slope(b.attr<float>("slope")), offset(b.attr<float>("offset")) {}
  PS_HD auto f(auto x) const {
    const auto line = slope * x + offset;
    return line < 0 ? 0 : line > 1 ? 1 : line;
  }
  PS_HD auto grad(auto y, auto dy) const { return y > 0 && y < 1 ? slope * dy : 0; }
};
struct Pow {
  float factor;
  explicit Pow(const Bind& b) : factor(b.attr<float>("factor")) {}
  PS_HD auto f(auto x) const { return std::pow(x, factor); }
  PS_HD auto grad(auto x, auto dy) const { return dy * factor * std::pow(x, factor - 1); }
};

struct Gelu {  // x times the probability that a normal variable is below x
  PS_HD auto f(auto x) const { return x * below(x); }
  PS_HD auto grad(auto x, auto dy) const {
    return dy * (below(x) + x * std::exp(-x * x / 2) * 0.3989422804014327f);
  }
  template <class T>
  PS_HD static T below(T x) {
    return (1 + std::erf(x * static_cast<T>(0.7071067811865476))) / 2;
  }
};
struct TanhShrink {
  PS_HD auto f(auto x) const { return x - paddle::tanh(x); }
  PS_HD auto grad(auto x, auto dy) const {
    const auto t = paddle::tanh(x);
    return dy * t * t;
  }
};
struct SoftRelu {  // log(1 + e^x), x limited to [-threshold, threshold]
  float threshold;
  explicit SoftRelu(const Bind& b) : threshold(b.attr<float>("threshold")) {}
  template <class T>
  PS_HD T f(T x) const {
    const T limit = threshold;
    const T inside = x < -limit ? -limit : x > limit ? limit : x;
    return (inside > 0 ? inside : 0) + paddle::log(1 + paddle::exp(-std::abs(inside)));
  }
  template <class T>
  PS_HD T grad(T y, T dy) const {
    return y > f(-T(threshold)) && y < f(T(threshold)) ? dy * (1 - paddle::exp(-y)) : 0;
  }
};
struct Brelu {
  float t_min, t_max;
  explicit Brelu(const Bind& b) : t_min(b.attr<float>("t_min")), t_max(b.attr<float>("t_max")) {}
  PS_HD auto f(auto x) const { return x < t_min ? t_min : x > t_max ? t_max : x; }
  PS_HD auto grad(auto x, auto dy) const { return x > t_min && x < t_max ? dy : 0; }
};
struct Stanh {
  float a, b;
  explicit Stanh(const Bind& bind)
      : a(bind.attr<float>("scale_a")), b(bind.attr<float>("scale_b")) {}
  PS_HD auto f(auto x) const { return b * paddle::tanh(a * x); }
  PS_HD auto grad(auto x, auto dy) const {
    const auto t = paddle::tanh(a * x);
    return dy * a * b * (1 - t * t);
  }
};

template <class A>
struct Forward {
  A a;
  template <class T>
  PS_HD T operator()(T x) const {
    return static_cast<T>(a.f(x));
  }
};
template <class A>
struct Gradient {
  A a;
  template <class T>
  PS_HD T operator()(T kept, T dy) const {
    return static_cast<T>(a.grad(kept, dy));
  }
};

// Kernels. Templates give the calls as plain functions; closures are compiled once.

struct Numbers {  // the attributes of any activation
  float at[2];
};
using UnaryCall = void (*)(const Device& d, const Numbers& a, int64_t n, void* out, const void* x);
using GradCall = void (*)(const Device& d, const Numbers& a, int64_t n, void* dx, const void* kept,
                          const void* dy);

template <class A>
Numbers numbers_of(const Bind& b) {
  Numbers n{};
  if constexpr (!std::is_empty_v<A>) {
    static_assert(sizeof(A) <= sizeof n && std::is_trivially_copyable_v<A>);
    const A a(b);
    std::memcpy(&n, &a, sizeof a);
  }
  return n;
}
template <class A>
A with_numbers(const Numbers& n) {
  if constexpr (std::is_empty_v<A>) {
    return A{};
  } else {
    std::array<std::byte, sizeof(A)> bytes;
    std::memcpy(&bytes, &n, sizeof bytes);
    return std::bit_cast<A>(bytes);
  }
}

template <class A, class T>
void unary_call(const Device& d, const Numbers& a, int64_t n, void* out, const void* x) {
  map(d, n, Forward<A>{with_numbers<A>(a)}, static_cast<T*>(out), static_cast<const T*>(x));
}
template <class A, class T>
void grad_call(const Device& d, const Numbers& a, int64_t n, void* dx, const void* kept,
               const void* dy) {
  map(d, n, Gradient<A>{with_numbers<A>(a)}, static_cast<T*>(dx), static_cast<const T*>(kept),
      static_cast<const T*>(dy));
}

Kernel unary_kernel(const Bind& b, UnaryCall f32, UnaryCall f64, const Numbers& numbers) {
  const Arg x = b.in("X"), out = b.out("Out");
  const auto call = with_float(b.dtype("X"), [&](auto t) { return sizeof t == 4 ? f32 : f64; });
  return [=](const Run& r) { call(r, numbers, r[x].numel(), r[out].data, r[x].data); };
}

// dX = grad(kept, dOut), where `kept` is the slot "Out" or "X".
Kernel grad_kernel(const Bind& b, GradCall f32, GradCall f64, const Numbers& numbers) {
  const Arg kept = b.in("Out") ? b.in("Out") : b.in("X");
  const Arg dy = b.in("Out@GRAD"), dx = b.out("X@GRAD");
  const auto call =
      with_float(b.dtype("Out@GRAD"), [&](auto t) { return sizeof t == 4 ? f32 : f64; });
  return
      [=](const Run& r) { call(r, numbers, r[dy].numel(), r[dx].data, r[kept].data, r[dy].data); };
}

using BindFn = Kernel (*)(const Bind&);
struct Binds {
  BindFn forward, backward;
};

template <class A>
Kernel bind_unary(const Bind& b) {
  return unary_kernel(b, unary_call<A, float>, unary_call<A, double>, numbers_of<A>(b));
}
template <class A>
Kernel bind_grad(const Bind& b) {
  return grad_kernel(b, grad_call<A, float>, grad_call<A, double>, numbers_of<A>(b));
}
template <class A>
constexpr Binds binds = {bind_unary<A>, bind_grad<A>};

// The op and its gradient; the gradient reads `kept` ("Out" or "X").
void add(std::vector<OpDef>& defs, const std::string& type, const std::string& kept, Binds bind,
         const Attrs& attrs = {}) {
  defs.push_back({.type = type,
                  .in = {{"X"}},
                  .out = {{"Out"}},
                  .attrs = attrs,
                  .infer = infer_same,
                  .bind = bind.forward,
                  .grad = {type + "_grad", {kept, "Out@GRAD"}, {"X@GRAD"}},
                  .inplace = {{"X", "Out"}}});
  defs.push_back({.type = type + "_grad",
                  .in = {{kept}, {"Out@GRAD"}},
                  .out = {{"X@GRAD", SlotDef::optional}},
                  .attrs = attrs,
                  .infer = infer_grad_same,
                  .bind = bind.backward,
                  .inplace = {{"Out@GRAD", "X@GRAD"}}});
}

// An op that is constant between its steps: its gradient is zero.
std::vector<Op> zero_grad(const Op& forward, const Want& want) {
  const std::string& x = forward.in["X"][0];
  if (!want(x)) return {};
  return {Op{.type = "fill_zeros_like", .in = {{"X", {x}}}, .out = {{"Out", {grad_name(x)}}}}};
}

Kernel bind_zeros(const Bind& b) {
  const Arg dx = b.out("X@GRAD");
  if (!dx) return [](const Run&) {};
  return with_float(b.dtype("Out@GRAD"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) { fill(r, r[dx].numel(), r[dx].as<T>(), T(0)); };
  });
}

void infer_leaky_relu_grad(Infer& i) {
  i.check(i.has("Out") || i.has("X"), "one of the inputs 'Out' and 'X' must be there");
  infer_grad_same(i);
}

void infer_leaky_relu(Infer& i) {
  i.check(i.attr<float>("alpha") >= 0, "alpha must not be below 0, found ", i.attr<float>("alpha"));
  infer_same(i);
}

void add_step(std::vector<OpDef>& defs, const std::string& type, BindFn forward) {
  defs.push_back({.type = type,
                  .in = {{"X"}},
                  .out = {{"Out"}},
                  .infer = infer_same,
                  .bind = forward,
                  .make_grad = zero_grad,
                  .inplace = {{"X", "Out"}}});
  // PaddlePaddle's programs have a gradient op.
  defs.push_back({.type = type + "_grad",
                  .in = {{"Out@GRAD"}},
                  .out = {{"X@GRAD", SlotDef::optional}},
                  .infer = infer_grad_same,
                  .bind = bind_zeros});
}

}  // namespace

std::vector<OpDef> activation_ops() {
  std::vector<OpDef> defs;
  add(defs, "relu", "Out", binds<Relu>);
  add(defs, "tanh", "Out", binds<Tanh>);
  add(defs, "sigmoid", "Out", binds<Sigmoid>);
  add(defs, "logsigmoid", "X", binds<LogSigmoid>);
  add(defs, "softplus", "X", binds<Softplus>);
  add(defs, "softsign", "X", binds<Softsign>);
  add(defs, "exp", "Out", binds<Exp>);
  add(defs, "log", "X", binds<Log>);
  add(defs, "sqrt", "Out", binds<Sqrt>);
  add(defs, "rsqrt", "Out", binds<Rsqrt>);
  add(defs, "abs", "X", binds<Abs>);
  add(defs, "square", "X", binds<Square>);
  add(defs, "reciprocal", "Out", binds<Reciprocal>);
  add(defs, "cos", "X", binds<Cos>);
  add(defs, "sin", "X", binds<Sin>);
  add_step(defs, "floor", bind_unary<Floor>);
  add_step(defs, "ceil", bind_unary<Ceil>);
  add_step(defs, "round", bind_unary<Round>);
  add_step(defs, "sign", bind_unary<Sign>);
  add(defs, "leaky_relu", "Out", binds<LeakyRelu>, {{"alpha", 0.02f}});
  defs[defs.size() - 2].infer = infer_leaky_relu;
  defs.back().infer = infer_leaky_relu_grad;
  defs.back().in = {
      {"Out", SlotDef::optional}, {"X", SlotDef::optional}, {"Out@GRAD"}};  // X: of 1.5
  add(defs, "relu6", "Out", binds<Relu6>, {{"threshold", 6.0f}});
  add(defs, "elu", "X", binds<Elu>, {{"alpha", 1.0f}});
  add(defs, "swish", "X", binds<Swish>, {{"beta", 1.0f}});
  add(defs, "hard_sigmoid", "Out", binds<HardSigmoid>, {{"slope", 0.2f}, {"offset", 0.5f}});
  add(defs, "pow", "X", binds<Pow>, {{"factor", 1.0f}});
  add(defs, "gelu", "X", binds<Gelu>);
  add(defs, "tanh_shrink", "X", binds<TanhShrink>);
  add(defs, "soft_relu", "Out", binds<SoftRelu>, {{"threshold", 40.0f}});
  add(defs, "brelu", "X", binds<Brelu>, {{"t_min", 0.0f}, {"t_max", 24.0f}});
  add(defs, "stanh", "X", binds<Stanh>, {{"scale_a", 2.0f / 3.0f}, {"scale_b", 1.7159f}});
  // Those that give the same bits wherever an element stands.
  for (OpDef& d : defs)
    d.elementwise = d.type == "abs" || d.type == "sign" || d.type == "sqrt" || d.type == "square";
  return defs;
}

}  // namespace paddle
