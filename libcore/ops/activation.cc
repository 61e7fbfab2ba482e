// Activations: y = f(x) element by element. A gradient is written in terms of what its op keeps: y
// where that is enough, else x.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "kernels/map.h"
#include "kernels/math.h"
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
  PS_HD auto grad(auto x, auto dy) const { return x > 0 ? dy : alpha * dy; }
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
  PS_HD auto grad(auto x, auto dy) const {
    return x > -threshold && x < threshold ? dy * paddle::sigmoid(x) : 0;
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
A make(const Bind& b) {
  if constexpr (std::is_empty_v<A>)
    return A{};
  else
    return A(b);
}

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

template <class A>
Kernel bind_unary(const Bind& b) {
  const Arg x = b.in("X"), out = b.out("Out");
  return with_float(b.dtype("X"), [&, f = Forward<A>{make<A>(b)}](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) { map(r.pool, r[x].numel(), f, r[out].as<T>(), r[x].as<const T>()); };
  });
}

// dX = grad(kept, dOut), where `kept` is the slot "Out" or "X".
template <class A>
Kernel bind_grad(const Bind& b) {
  const Arg kept = b.in("Out") ? b.in("Out") : b.in("X");
  const Arg dy = b.in("Out@GRAD"), dx = b.out("X@GRAD");
  return with_float(b.dtype("Out@GRAD"), [&, f = Gradient<A>{make<A>(b)}](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      map(r.pool, r[dy].numel(), f, r[dx].as<T>(), r[kept].as<const T>(), r[dy].as<const T>());
    };
  });
}

// The op and its gradient; the gradient reads `kept` ("Out" or "X").
template <class A>
void add(std::vector<OpDef>& defs, const std::string& type, const std::string& kept,
         const Attrs& attrs = {}) {
  defs.push_back({.type = type,
                  .in = {{"X"}},
                  .out = {{"Out"}},
                  .attrs = attrs,
                  .infer = infer_same,
                  .bind = bind_unary<A>,
                  .grad = {type + "_grad", {kept, "Out@GRAD"}, {"X@GRAD"}},
                  .inplace = {{"X", "Out"}}});
  defs.push_back({.type = type + "_grad",
                  .in = {{kept}, {"Out@GRAD"}},
                  .out = {{"X@GRAD", SlotDef::optional}},
                  .attrs = attrs,
                  .infer = infer_grad_same,
                  .bind = bind_grad<A>,
                  .inplace = {{"Out@GRAD", "X@GRAD"}}});
}

// An op that is constant between its steps: its gradient is zero.
std::vector<Op> zero_grad(const Op& forward, const Want& want) {
  const std::string& x = forward.in["X"][0];
  if (!want(x)) return {};
  return {Op{.type = "fill_zeros_like", .in = {{"X", {x}}}, .out = {{"Out", {grad_name(x)}}}}};
}

template <class A>
void add_step(std::vector<OpDef>& defs, const std::string& type) {
  defs.push_back({.type = type,
                  .in = {{"X"}},
                  .out = {{"Out"}},
                  .infer = infer_same,
                  .bind = bind_unary<A>,
                  .make_grad = zero_grad,
                  .inplace = {{"X", "Out"}}});
}

}  // namespace

std::vector<OpDef> activation_ops() {
  std::vector<OpDef> defs;
  add<Relu>(defs, "relu", "Out");
  add<Tanh>(defs, "tanh", "Out");
  add<Sigmoid>(defs, "sigmoid", "Out");
  add<LogSigmoid>(defs, "logsigmoid", "X");
  add<Softplus>(defs, "softplus", "X");
  add<Softsign>(defs, "softsign", "X");
  add<Exp>(defs, "exp", "Out");
  add<Log>(defs, "log", "X");
  add<Sqrt>(defs, "sqrt", "Out");
  add<Rsqrt>(defs, "rsqrt", "Out");
  add<Abs>(defs, "abs", "X");
  add<Square>(defs, "square", "X");
  add<Reciprocal>(defs, "reciprocal", "Out");
  add<Cos>(defs, "cos", "X");
  add<Sin>(defs, "sin", "X");
  add_step<Floor>(defs, "floor");
  add_step<Ceil>(defs, "ceil");
  add_step<Round>(defs, "round");
  add_step<Sign>(defs, "sign");
  add<LeakyRelu>(defs, "leaky_relu", "X", {{"alpha", 0.02f}});
  add<Relu6>(defs, "relu6", "Out", {{"threshold", 6.0f}});
  add<Elu>(defs, "elu", "X", {{"alpha", 1.0f}});
  add<Swish>(defs, "swish", "X", {{"beta", 1.0f}});
  add<HardSigmoid>(defs, "hard_sigmoid", "Out", {{"slope", 0.2f}, {"offset", 0.5f}});
  add<Pow>(defs, "pow", "X", {{"factor", 1.0f}});
  add<Gelu>(defs, "gelu", "X");
  add<TanhShrink>(defs, "tanh_shrink", "X");
  add<SoftRelu>(defs, "soft_relu", "X", {{"threshold", 40.0f}});
  add<Brelu>(defs, "brelu", "X", {{"t_min", 0.0f}, {"t_max", 24.0f}});
  add<Stanh>(defs, "stanh", "X", {{"scale_a", 2.0f / 3.0f}, {"scale_b", 1.7159f}});
  return defs;
}

}  // namespace paddle
