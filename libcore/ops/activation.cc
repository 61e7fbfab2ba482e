// Activations: y = f(x) element by element. A gradient is written in terms of what its op keeps: y
// where that is enough, else x.
#include <cmath>

#include "kernels/map.h"
#include "kernels/math.h"
#include "ops/common.h"

namespace paddle {
namespace {

struct Relu {
  template <class T>
  PS_HD T operator()(T x) const {
    return x > 0 ? x : T(0);
  }
};
struct ReluGrad {  // of y, dy
  template <class T>
  PS_HD T operator()(T y, T dy) const {
    return y > 0 ? dy : T(0);
  }
};
struct Tanh {
  template <class T>
  PS_HD T operator()(T x) const {
    return paddle::tanh(x);
  }
};
struct TanhGrad {
  template <class T>
  PS_HD T operator()(T y, T dy) const {
    return dy * (1 - y * y);
  }
};

template <class F>
Kernel bind_unary(const Bind& b) {
  const Arg x = b.in("X"), out = b.out("Out");
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return
        [=](const Run& r) { map(r.pool, r[x].numel(), F{}, r[out].as<T>(), r[x].as<const T>()); };
  });
}

// dX = f(kept, dOut), where `kept` is the slot "Out" or "X".
template <class F>
Kernel bind_grad(const Bind& b) {
  const Arg kept = b.in("Out") ? b.in("Out") : b.in("X");
  const Arg dy = b.in("Out@GRAD"), dx = b.out("X@GRAD");
  return with_float(b.dtype("Out@GRAD"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      map(r.pool, r[dy].numel(), F{}, r[dx].as<T>(), r[kept].as<const T>(), r[dy].as<const T>());
    };
  });
}

// The op and its gradient; the gradient reads `kept` ("Out" or "X").
template <class F, class G>
void add(std::vector<OpDef>& defs, const std::string& type, const std::string& kept) {
  defs.push_back({.type = type,
                  .in = {{"X"}},
                  .out = {{"Out"}},
                  .infer = infer_same,
                  .bind = bind_unary<F>,
                  .grad = {type + "_grad", {kept, "Out@GRAD"}, {"X@GRAD"}},
                  .inplace = {{"X", "Out"}}});
  defs.push_back({.type = type + "_grad",
                  .in = {{kept}, {"Out@GRAD"}},
                  .out = {{"X@GRAD", SlotDef::optional}},
                  .infer = infer_grad_same,
                  .bind = bind_grad<G>,
                  .inplace = {{"Out@GRAD", "X@GRAD"}}});
}

}  // namespace

std::vector<OpDef> activation_ops() {
  std::vector<OpDef> defs;
  add<Relu, ReluGrad>(defs, "relu", "Out");
  add<Tanh, TanhGrad>(defs, "tanh", "Out");
  return defs;
}

}  // namespace paddle
