// out = f(x, y) element by element, where y may be a run of x's dimensions that is repeated over
// the others.
#include <cmath>
#include <type_traits>

#include "kernels/map.h"
#include "kernels/math.h"
#include "kernels/memory.h"
#include "ops/broadcast.h"
#include "ops/common.h"
#include "ops/row_view.h"

namespace paddle {
namespace {

void infer_elementwise(Infer& i) {
  check_broadcast(i);
  i.out_like("Out", "X");
}

void infer_elementwise_grad(Infer& i) {
  check_broadcast(i);
  i.check(i.shape("X").compatible(i.shape("Out@GRAD")), "the shapes of ", i.describe("X"), " and ",
          i.describe("Out@GRAD"), " must be equal");
  infer_grad_same(i);
}

// The functions: f(y, x), as the loops pass them.

struct Add {
  PS_HD auto operator()(auto y, auto x) const { return x + y; }
};
struct Sub {
  PS_HD auto operator()(auto y, auto x) const { return x - y; }
};
struct Mul {
  PS_HD auto operator()(auto y, auto x) const { return x * y; }
};
struct Max {
  PS_HD auto operator()(auto y, auto x) const { return x > y ? x : y; }
};
struct Min {
  PS_HD auto operator()(auto y, auto x) const { return x < y ? x : y; }
};
// The most negative integer divided by -1 traps, as division by 0 does (see check_divisor).
template <class T>
PS_HD T negated(T x) {
  return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(x));
}
struct Div {
  template <class T>
  PS_HD T operator()(T y, T x) const {
    if constexpr (std::is_integral_v<T>)
      return y == -1 ? negated(x) : x / y;
    else
      return x / y;
  }
};
struct Mod {
  template <class T>
  PS_HD T operator()(T y, T x) const {
    if constexpr (std::is_integral_v<T>)
      return y == -1 ? 0 : x % y;
    else
      return std::fmod(x, y);
  }
};
struct FloorDiv {  // rounds towards zero, as the op of this name always has
  template <class T>
  PS_HD T operator()(T y, T x) const {
    if constexpr (std::is_integral_v<T>)
      return Div{}(y, x);
    else
      return std::trunc(x / y);
  }
};
struct Pow {
  template <class T>
  PS_HD T operator()(T y, T x) const {
    if constexpr (std::is_integral_v<T>)
      return integer(y, x);
    else
      return std::pow(x, y);
  }
  // Exact where the result fits; 1/x^n is 0 but for x = 1 and -1.
  template <class T>
  PS_HD static T integer(T y, T x) {
    using U = std::make_unsigned_t<T>;
    if (y < 0) return x == 1 ? 1 : x == -1 ? (y % 2 != 0 ? -1 : 1) : 0;
    U result = 1, base = static_cast<U>(x);
    for (T k = y; k > 0; k /= 2, base *= base)
      if (k % 2 != 0) result *= base;
    return static_cast<T>(result);
  }
};

// Their gradients, of (y, kept, dout): `kept` is x, or out for a quotient.

struct MulGrad {
  PS_HD static auto dx(auto y, auto, auto d) { return d * y; }
  PS_HD static auto dy(auto, auto x, auto d) { return d * x; }
};
struct DivGrad {
  PS_HD static auto dx(auto y, auto, auto d) { return d / y; }
  PS_HD static auto dy(auto y, auto out, auto d) { return -d * out / y; }
};
struct MaxGrad {  // a tie goes to y
  PS_HD static auto dx(auto y, auto x, auto d) { return x > y ? d : 0; }
  PS_HD static auto dy(auto y, auto x, auto d) { return x > y ? 0 : d; }
};
struct MinGrad {
  PS_HD static auto dx(auto y, auto x, auto d) { return x < y ? d : 0; }
  PS_HD static auto dy(auto y, auto x, auto d) { return x < y ? 0 : d; }
};
struct PowGrad {
  PS_HD static auto dx(auto y, auto x, auto d) { return d * y * std::pow(x, y - 1); }
  PS_HD static auto dy(auto y, auto x, auto d) { return d * paddle::log(x) * std::pow(x, y); }
};
template <class G>
struct Dx {
  template <class T>
  PS_HD T operator()(T y, T kept, T d) const {
    return static_cast<T>(G::dx(y, kept, d));
  }
};
template <class G>
struct Dy {
  template <class T>
  PS_HD T operator()(T y, T kept, T d) const {
    return static_cast<T>(G::dy(y, kept, d));
  }
};

// Kernels.

template <class F, class T>
void check_divisor(const Run& r, const View& y) {
  constexpr bool divides =
      std::is_same_v<F, Div> || std::is_same_v<F, Mod> || std::is_same_v<F, FloorDiv>;
  if constexpr (divides && std::is_integral_v<T>) {
    const int64_t zero = find_value(r, y.numel(), y.as<const T>(), T(0));
    require(zero < 0, Error::Kind::data, "element ", zero, " of Y ", y.shape,
            " is 0, and integers cannot be divided by it");
  }
}

struct Args {
  Arg x, y, out;
  int axis;
};

template <class F, class T>
void run_elementwise(const Run& r, const Args& a) {
  check_divisor<F, T>(r, r[a.y]);
  if (r[a.x].is_rows) copy_rows(r, r[a.x], r[a.out]);  // a sparse gradient times a number
  broadcast(r, extents(r[a.x].shape, r[a.y].shape, a.axis), F{}, r[a.out].as<T>(),
            r[a.y].as<const T>(), r[a.x].as<const T>());
}

template <class F>
Kernel bind_elementwise(const Bind& b) {
  const auto run =
      with_number(b.dtype("X"), [](auto t) { return run_elementwise<F, decltype(t)>; });
  const Args args{b.in("X"), b.in("Y"), b.out("Out"), b.attr<int32_t>("axis")};
  return [=](const Run& r) { run(r, args); };
}

template <int sign>
struct Signed {
  template <class T>
  PS_HD T operator()(T x) const {
    return sign * x;
  }
};

// add and sub: the gradient is dOut itself, summed for y. X and Y are here for their shapes only.
template <int sign, class T>
void linear_grad(const Run& r, const Extents& e, const T* d, T* dx, T* dy) {
  const auto negate = [&](const T* from, T* to, int64_t n) { map(r, n, Signed<sign>{}, to, from); };
  if (dy != nullptr && e.same()) negate(d, dy, e.n);
  if (dy != nullptr && !e.same()) {
    T* partial = e.pre > 1 && e.post > 1 ? r.scratch.get<T>(e.pre * e.n) : nullptr;
    sum_to_y(r, e, d, partial, dy);
    if (sign < 0) negate(dy, dy, e.n);
  }
  if (dx != nullptr) copy(r, e.numel(), dx, d);
}

// dy comes first: dx may lie in dOut's memory.
template <class G, class T>
void product_grad(const Run& r, const Extents& e, const T* y, const T* kept, const T* d, T* dx,
                  T* dy) {
  if (dy != nullptr && e.same()) broadcast(r, e, Dy<G>{}, dy, y, kept, d);
  if (dy != nullptr && !e.same()) {
    T* parts = r.scratch.get<T>(e.numel() + e.pre * e.n);
    broadcast(r, e, Dy<G>{}, parts, y, kept, d);
    sum_to_y(r, e, parts, parts + e.numel(), dy);
  }
  if (dx != nullptr) broadcast(r, e, Dx<G>{}, dx, y, kept, d);
}

struct GradArgs {
  Arg x, y, kept, d, dx, dy;
  int axis;
  explicit GradArgs(const Bind& b)
      : x(b.in("X")),
        y(b.in("Y")),
        kept(b.in("Out") ? b.in("Out") : b.in("X")),
        d(b.in("Out@GRAD")),
        dx(b.out("X@GRAD")),
        dy(b.out("Y@GRAD")),
        axis(b.attr<int32_t>("axis")) {}
  Extents extents_of(const Run& r) const { return extents(r[x].shape, r[y].shape, axis); }
  template <class T>
  static T* data(const Run& r, Arg a) {
    return a ? r[a].template as<T>() : nullptr;
  }
};

// Templates give the plain function, and closures are made here.
Kernel grad_kernel(const Bind& b, void (*run)(const Run& r, const GradArgs& a)) {
  return [=, args = GradArgs(b)](const Run& r) { run(r, args); };
}

template <int sign>
Kernel bind_linear_grad(const Bind& b) {
  return grad_kernel(b, with_float(b.dtype("Out@GRAD"), [](auto t) {
                       using T = decltype(t);
                       return +[](const Run& r, const GradArgs& a) {
                         linear_grad<sign, T>(r, a.extents_of(r), r[a.d].template as<const T>(),
                                              a.data<T>(r, a.dx), a.data<T>(r, a.dy));
                       };
                     }));
}

template <class G>
Kernel bind_product_grad(const Bind& b) {
  return grad_kernel(b, with_float(b.dtype("Out@GRAD"), [](auto t) {
                       using T = decltype(t);
                       return +[](const Run& r, const GradArgs& a) {
                         product_grad<G, T>(r, a.extents_of(r), r[a.y].template as<const T>(),
                                            r[a.kept].template as<const T>(),
                                            r[a.d].template as<const T>(), a.data<T>(r, a.dx),
                                            a.data<T>(r, a.dy));
                       };
                     }));
}

// Definitions.

using BindFn = Kernel (*)(const Bind&);

OpDef define(const std::string& type, BindFn bind, GradRule grad = {}) {
  return {.type = type,
          .in = {{"X"}, {"Y"}},
          .out = {{"Out"}},
          .attrs = {{"axis", -1}},
          .infer = infer_elementwise,
          .bind = bind,
          .grad = std::move(grad),
          .inplace = {{"X", "Out"}}};
}

// The op and its gradient; `inputs` are what the gradient names besides Out@GRAD, and `shape_only`
// those of them that it does not read.
void add(std::vector<OpDef>& defs, const std::string& type, std::vector<std::string> inputs,
         const std::vector<std::string>& shape_only, BindFn forward, BindFn backward) {
  inputs.push_back("Out@GRAD");
  std::vector<SlotDef> slots;
  for (const std::string& name : inputs) slots.push_back({name});
  defs.push_back(define(type, forward, {type + "_grad", inputs, {"X@GRAD", "Y@GRAD"}}));
  defs.push_back({.type = type + "_grad",
                  .in = std::move(slots),
                  .out = {{"X@GRAD", SlotDef::optional}, {"Y@GRAD", SlotDef::optional}},
                  .attrs = {{"axis", -1}},
                  .infer = infer_elementwise_grad,
                  .bind = backward,
                  .inplace = {{"Out@GRAD", "X@GRAD"}},
                  .shape_only = shape_only});
}

}  // namespace

std::vector<OpDef> elementwise_ops() {
  std::vector<OpDef> defs;
  add(defs, "elementwise_add", {"X", "Y"}, {"X", "Y"}, bind_elementwise<Add>, bind_linear_grad<1>);
  add(defs, "elementwise_sub", {"X", "Y"}, {"X", "Y"}, bind_elementwise<Sub>, bind_linear_grad<-1>);
  add(defs, "elementwise_mul", {"X", "Y"}, {}, bind_elementwise<Mul>, bind_product_grad<MulGrad>);
  add(defs, "elementwise_div", {"X", "Y", "Out"}, {"X"}, bind_elementwise<Div>,
      bind_product_grad<DivGrad>);
  add(defs, "elementwise_max", {"X", "Y"}, {}, bind_elementwise<Max>, bind_product_grad<MaxGrad>);
  add(defs, "elementwise_min", {"X", "Y"}, {}, bind_elementwise<Min>, bind_product_grad<MinGrad>);
  for (OpDef& d : defs) d.elementwise = !d.type.ends_with("_grad");
  add(defs, "elementwise_pow", {"X", "Y"}, {}, bind_elementwise<Pow>, bind_product_grad<PowGrad>);
  defs.push_back(define("elementwise_mod", bind_elementwise<Mod>));
  defs.push_back(define("elementwise_floordiv", bind_elementwise<FloorDiv>));
  return defs;
}

}  // namespace paddle
