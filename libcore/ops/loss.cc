// Losses of numbers, element by element.
#include <algorithm>

#include "kernels/map.h"
#include "kernels/math.h"
#include "kernels/memory.h"
#include "ops/common.h"

namespace paddle {
namespace {

// Fails unless both have one shape and one type.
void check_pair(const Infer& i, std::string_view a, std::string_view b) {
  i.check_same(a, b);
  i.check(i.dtype(a) == i.dtype(b), a, " and ", b, " must have one type, found ",
          name_of(i.dtype(a)), " and ", name_of(i.dtype(b)));
}

// log(1 + exp(-|x|)) + max(x, 0) - x * label: the same as with a sigmoid, without its overflow.
struct SigmoidLoss {
  float ignore;
  template <class T>
  PS_INLINE PS_HD T operator()(T x, T label) const {
    const T loss = (x > 0 ? x : T(0)) - x * label + paddle::log(1 + paddle::exp(x > 0 ? -x : x));
    return label == T(ignore) ? T(0) : loss;
  }
};
struct SigmoidLossGrad {
  float ignore;
  template <class T>
  PS_INLINE PS_HD T operator()(T x, T label, T dy) const {
    return label == T(ignore) ? T(0) : dy * (paddle::sigmoid(x) - label);
  }
};
struct Scale {
  double by;
  template <class T>
  PS_INLINE PS_HD T operator()(T x) const {
    return x * T(by);
  }
};

// The mean is over the labels that count.
template <class T>
void normalize(const Run& r, const View& label, float ignore, const View& out) {
  const int64_t counted = count_other(r, label.numel(), label.as<const T>(), T(ignore));
  map(r, out.numel(), Scale{1.0 / static_cast<double>(std::max<int64_t>(counted, 1))}, out.as<T>(),
      out.as<const T>());
}

void infer_sigmoid_loss(Infer& i) {
  check_pair(i, "X", "Label");
  infer_same(i);
}

Kernel bind_sigmoid_loss(const Bind& b) {
  const Arg x = b.in("X"), label = b.in("Label"), out = b.out("Out");
  const auto ignore = static_cast<float>(b.attr<int32_t>("ignore_index"));
  const bool mean = b.attr<bool>("normalize");
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      map(r, r[x].numel(), SigmoidLoss{ignore}, r[out].as<T>(), r[x].as<const T>(),
          r[label].as<const T>());
      if (mean) normalize<T>(r, r[label], ignore, r[out]);
    };
  });
}

Kernel bind_sigmoid_loss_grad(const Bind& b) {
  const Arg x = b.in("X"), label = b.in("Label"), dy = b.in("Out@GRAD"), dx = b.out("X@GRAD");
  const auto ignore = static_cast<float>(b.attr<int32_t>("ignore_index"));
  const bool mean = b.attr<bool>("normalize");
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      map(r, r[x].numel(), SigmoidLossGrad{ignore}, r[dx].as<T>(), r[x].as<const T>(),
          r[label].as<const T>(), r[dy].as<const T>());
      if (mean) normalize<T>(r, r[label], ignore, r[dx]);
    };
  });
}

struct LogLoss {
  float epsilon;
  template <class T>
  PS_INLINE PS_HD T operator()(T p, T label) const {
    const T e = T(epsilon);
    return -label * paddle::log(p + e) - (1 - label) * paddle::log(1 - p + e);
  }
};
struct LogLossGrad {
  float epsilon;
  template <class T>
  PS_INLINE PS_HD T operator()(T p, T label, T dy) const {
    const T e = T(epsilon);
    return dy * ((1 - label) / (1 - p + e) - label / (p + e));
  }
};

void infer_log_loss(Infer& i) {
  check_pair(i, "Predicted", "Labels");
  i.out_like("Loss", "Predicted");
}

// max(0, 1 - (2 label - 1) x): labels are 0 and 1.
struct Hinge {
  template <class T>
  PS_INLINE PS_HD T operator()(T x, T label) const {
    const T rest = 1 - (2 * label - 1) * x;
    return rest > 0 ? rest : T(0);
  }
};
struct HingeGrad {
  template <class T>
  PS_INLINE PS_HD T operator()(T x, T label, T dy) const {
    const T side = 2 * label - 1;
    return side * x < 1 ? -side * dy : T(0);
  }
};

void infer_hinge(Infer& i) {
  check_pair(i, "Logits", "Labels");
  i.out_like("Loss", "Logits");
}

// Loss = f(x, label), with f made of the op's attributes.
template <class F>
Kernel bind_loss(const Bind& b, std::string_view slot, const F& f) {
  const Arg x = b.in(slot), label = b.in("Labels"), out = b.out("Loss");
  return with_float(b.dtype(slot), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      map(r, r[x].numel(), f, r[out].as<T>(), r[x].as<const T>(), r[label].as<const T>());
    };
  });
}
template <class F>
Kernel bind_loss_grad(const Bind& b, std::string_view slot, const F& f) {
  const Arg x = b.in(slot), label = b.in("Labels"), dy = b.in("Loss@GRAD");
  const Arg dx = b.out(grad_name(slot));
  return with_float(b.dtype(slot), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      map(r, r[x].numel(), f, r[dx].as<T>(), r[x].as<const T>(), r[label].as<const T>(),
          r[dy].as<const T>());
    };
  });
}

Kernel bind_log_loss(const Bind& b) {
  return bind_loss(b, "Predicted", LogLoss{b.attr<float>("epsilon")});
}
Kernel bind_log_loss_grad(const Bind& b) {
  return bind_loss_grad(b, "Predicted", LogLossGrad{b.attr<float>("epsilon")});
}
Kernel bind_hinge(const Bind& b) { return bind_loss(b, "Logits", Hinge{}); }
Kernel bind_hinge_grad(const Bind& b) { return bind_loss_grad(b, "Logits", HingeGrad{}); }

// d*d/2 where |d| <= delta, else delta*(|d| - delta/2), with d = y - x kept as Residual.
struct Huber {
  float delta;
  template <class T>
  PS_INLINE PS_HD T operator()(T x, T y) const {
    const T d = y - x, a = d < 0 ? -d : d, limit = T(delta);
    return a <= limit ? d * d / 2 : limit * (a - limit / 2);
  }
};
struct Difference {
  template <class T>
  PS_INLINE PS_HD T operator()(T x, T y) const {
    return y - x;
  }
};
struct HuberGrad {
  float delta, sign;
  template <class T>
  PS_INLINE PS_HD T operator()(T d, T dy) const {
    const T limit = T(delta);
    return T(sign) * dy * (d > limit ? limit : d < -limit ? -limit : d);
  }
};

void infer_huber(Infer& i) {
  check_pair(i, "X", "Y");
  i.check(i.attr<float>("delta") > 0, "delta must be above 0, found ", i.attr<float>("delta"));
  i.out_like("Out", "X");
  i.out_like("Residual", "X");
}

void infer_huber_grad(Infer& i) {
  check_pair(i, "Residual", "Out@GRAD");
  infer_grad_same(i);
}

Kernel bind_huber(const Bind& b) {
  const Arg x = b.in("X"), y = b.in("Y"), out = b.out("Out"), residual = b.out("Residual");
  const Huber f{b.attr<float>("delta")};
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const int64_t n = r[x].numel();
      map(r, n, f, r[out].as<T>(), r[x].as<const T>(), r[y].as<const T>());
      if (residual)
        map(r, n, Difference{}, r[residual].as<T>(), r[x].as<const T>(), r[y].as<const T>());
    };
  });
}

Kernel bind_huber_grad(const Bind& b) {
  const Arg residual = b.in("Residual"), dy = b.in("Out@GRAD");
  const Arg dx = b.out("X@GRAD"), dlabel = b.out("Y@GRAD");
  const auto delta = b.attr<float>("delta");
  return with_float(b.dtype("Residual"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const auto give = [&](Arg to, float sign) {
        map(r, r[dy].numel(), HuberGrad{delta, sign}, r[to].as<T>(), r[residual].as<const T>(),
            r[dy].as<const T>());
      };
      if (dx) give(dx, -1);
      if (dlabel) give(dlabel, 1);
    };
  });
}

}  // namespace

std::vector<OpDef> loss_ops() {
  const Attrs sigmoid_attrs = {{"ignore_index", -100}, {"normalize", false}};
  return {
      {.type = "sigmoid_cross_entropy_with_logits",
       .in = {{"X"}, {"Label"}},
       .out = {{"Out"}},
       .attrs = sigmoid_attrs,
       .infer = infer_sigmoid_loss,
       .bind = bind_sigmoid_loss,
       .grad = {"sigmoid_cross_entropy_with_logits_grad", {"X", "Label", "Out@GRAD"}, {"X@GRAD"}},
       .inplace = {{"X", "Out"}}},
      {.type = "sigmoid_cross_entropy_with_logits_grad",
       .in = {{"X"}, {"Label"}, {"Out@GRAD"}},
       .out = {{"X@GRAD", SlotDef::optional}},
       .attrs = sigmoid_attrs,
       .infer = infer_grad_same,
       .bind = bind_sigmoid_loss_grad,
       .inplace = {{"Out@GRAD", "X@GRAD"}}},
      {.type = "log_loss",
       .in = {{"Predicted"}, {"Labels"}},
       .out = {{"Loss"}},
       .attrs = {{"epsilon", 1e-4f}},
       .infer = infer_log_loss,
       .bind = bind_log_loss,
       .grad = {"log_loss_grad", {"Predicted", "Labels", "Loss@GRAD"}, {"Predicted@GRAD"}}},
      {.type = "log_loss_grad",
       .in = {{"Predicted"}, {"Labels"}, {"Loss@GRAD"}},
       .out = {{"Predicted@GRAD", SlotDef::optional}},
       .attrs = {{"epsilon", 1e-4f}},
       .infer = infer_grad_same,
       .bind = bind_log_loss_grad},
      {.type = "hinge_loss",
       .in = {{"Logits"}, {"Labels"}},
       .out = {{"Loss"}},
       .infer = infer_hinge,
       .bind = bind_hinge,
       .grad = {"hinge_loss_grad", {"Logits", "Labels", "Loss@GRAD"}, {"Logits@GRAD"}}},
      {.type = "hinge_loss_grad",
       .in = {{"Logits"}, {"Labels"}, {"Loss@GRAD"}},
       .out = {{"Logits@GRAD", SlotDef::optional}},
       .infer = infer_grad_same,
       .bind = bind_hinge_grad},
      {.type = "huber_loss",
       .in = {{"X"}, {"Y"}},
       .out = {{"Out"}, {"Residual", SlotDef::intermediate}},
       .attrs = {{"delta", 1.0f}},
       .infer = infer_huber,
       .bind = bind_huber,
       .grad = {"huber_loss_grad", {"Residual", "Out@GRAD"}, {"X@GRAD", "Y@GRAD"}},
       .required_attrs = {"delta"}},
      {.type = "huber_loss_grad",
       .in = {{"Residual"}, {"Out@GRAD"}},
       .out = {{"X@GRAD", SlotDef::optional}, {"Y@GRAD", SlotDef::optional}},
       .attrs = {{"delta", 1.0f}},
       .infer = infer_huber_grad,
       .bind = bind_huber_grad},
  };
}

}  // namespace paddle
