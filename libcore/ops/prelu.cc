// prelu: x where x > 0, else alpha * x, with one alpha for all, one per channel or one per element
// of a sample.
#include "kernels/each.h"
#include "ops/common.h"

namespace paddle {
namespace {

// X as [outer, alphas, inner]: element (o, a, i) has alpha a.
struct Alphas {
  int64_t outer, count, inner;
  Alphas(const std::string& mode, const Shape& x) {
    const int64_t per_sample = x.product(1, x.rank());
    outer = mode == "all" ? 1 : x[0];
    count = mode == "all" ? 1 : mode == "channel" ? x[1] : per_sample;
    inner = mode == "all" ? x.numel() : mode == "channel" ? x.product(2, x.rank()) : 1;
  }
};

void check_alpha(const Infer& i) {
  const auto mode = i.attr<std::string>("mode");
  const Shape& x = i.shape("X");
  i.check(mode == "all" || mode == "channel" || mode == "element",
          "mode must be all, channel or element, found '", mode, "'");
  i.check(x.rank() >= (mode == "channel" ? 2 : 1), i.describe("X"),
          " has too few dimensions for mode ", mode);
  i.check(i.dtype("X") == i.dtype("Alpha"), "X and Alpha must have one type");
  const int64_t wanted = Alphas(mode, x).count, found = i.shape("Alpha").numel();
  i.check(wanted < 0 || found < 0 || wanted == found, "mode ", mode, " needs ", wanted,
          " elements in ", i.describe("Alpha"), " for ", i.describe("X"));
}

void infer_prelu(Infer& i) {
  check_alpha(i);
  infer_same(i);
}
void infer_prelu_grad(Infer& i) {
  check_alpha(i);
  infer_grad_same(i);
}

template <class T>
struct PreluRun {  // one (outer, alpha)
  Alphas a;
  const T *x, *alpha;
  T* out;
  PS_HD void operator()(int64_t k) const {
    const T slope = alpha[k % a.count];
    for (int64_t e = k * a.inner; e < (k + 1) * a.inner; ++e)
      out[e] = x[e] > 0 ? x[e] : slope * x[e];
  }
};
template <class T>
struct PreluGradX {
  Alphas a;
  const T *x, *alpha, *dout;
  T* dx;
  PS_HD void operator()(int64_t k) const {
    const T slope = alpha[k % a.count];
    for (int64_t e = k * a.inner; e < (k + 1) * a.inner; ++e)
      dx[e] = x[e] > 0 ? dout[e] : slope * dout[e];
  }
};
template <class T>
struct PreluGradAlpha {  // one alpha, over all that has it
  Alphas a;
  const T *x, *dout;
  T* dalpha;
  PS_HD void operator()(int64_t k) const {
    T sum = 0;
    for (int64_t o = 0; o < a.outer; ++o) {
      const int64_t first = (o * a.count + k) * a.inner;
      for (int64_t e = first; e < first + a.inner; ++e) sum += x[e] > 0 ? T(0) : x[e] * dout[e];
    }
    dalpha[k] = sum;
  }
};

Kernel bind_prelu(const Bind& b) {
  const Arg x = b.in("X"), alpha = b.in("Alpha"), out = b.out("Out");
  const auto mode = b.attr<std::string>("mode");
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const Alphas a(mode, r[x].shape);
      each(r, a.outer * a.count, a.inner,
           PreluRun<T>{a, r[x].as<const T>(), r[alpha].as<const T>(), r[out].as<T>()});
    };
  });
}

Kernel bind_prelu_grad(const Bind& b) {
  const Arg x = b.in("X"), alpha = b.in("Alpha"), dout = b.in("Out@GRAD"), dx = b.out("X@GRAD"),
            dalpha = b.out("Alpha@GRAD");
  const auto mode = b.attr<std::string>("mode");
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const Alphas a(mode, r[x].shape);
      if (dx)
        each(r, a.outer * a.count, a.inner,
             PreluGradX<T>{a, r[x].as<const T>(), r[alpha].as<const T>(), r[dout].as<const T>(),
                           r[dx].as<T>()});
      if (dalpha)
        each(r, a.count, a.outer * a.inner,
             PreluGradAlpha<T>{a, r[x].as<const T>(), r[dout].as<const T>(), r[dalpha].as<T>()});
    };
  });
}

}  // namespace

std::vector<OpDef> prelu_ops() {
  const Attrs attrs{{"mode", std::string("all")}};
  return {
      {.type = "prelu",
       .in = {{"X"}, {"Alpha"}},
       .out = {{"Out"}},
       .attrs = attrs,
       .infer = infer_prelu,
       .bind = bind_prelu,
       .grad = {"prelu_grad", {"X", "Alpha", "Out@GRAD"}, {"X@GRAD", "Alpha@GRAD"}}},
      {.type = "prelu_grad",
       .in = {{"X"}, {"Alpha"}, {"Out@GRAD"}},
       .out = {{"X@GRAD", SlotDef::optional}, {"Alpha@GRAD", SlotDef::optional}},
       .attrs = attrs,
       .infer = infer_prelu_grad,
       .bind = bind_prelu_grad},
  };
}

}  // namespace paddle
