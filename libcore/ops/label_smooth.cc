// label_smooth: Out = (1 - epsilon) * X + epsilon * prior, where the prior of each of the classes
// is given, or 1 / classes.
#include "kernels/each.h"
#include "kernels/map.h"
#include "ops/common.h"

namespace paddle {
namespace {

struct SmoothEvenly {
  double keep, add;
  template <class T>
  PS_HD T operator()(T x) const {
    return T(keep) * x + T(add);
  }
};

template <class T>
struct SmoothRow {
  int64_t classes;
  T epsilon;
  const T *x, *prior;
  T* out;
  PS_HD void operator()(int64_t row) const {
    for (int64_t k = 0; k < classes; ++k)
      out[row * classes + k] = (1 - epsilon) * x[row * classes + k] + epsilon * prior[k];
  }
};

void infer_label_smooth(Infer& i) {
  const Shape& x = i.shape("X");
  i.check(x.rank() >= 1, i.describe("X"), " needs a dimension of classes");
  const auto epsilon = i.attr<float>("epsilon");
  i.check(epsilon >= 0 && epsilon <= 1, "epsilon must be from 0 to 1, found ", epsilon);
  if (i.has("PriorDist")) {
    const int64_t classes = x[x.rank() - 1], given = i.shape("PriorDist").numel();
    i.check(classes < 0 || given < 0 || classes == given, i.describe("PriorDist"),
            " must have an element for each class of ", i.describe("X"));
    i.check(i.dtype("X") == i.dtype("PriorDist"), "X and PriorDist must have one type");
  }
  i.out_like("Out", "X");
}

Kernel bind_label_smooth(const Bind& b) {
  const Arg x = b.in("X"), prior = b.in("PriorDist"), out = b.out("Out");
  const auto epsilon = b.attr<float>("epsilon");
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const int64_t n = r[x].numel(), classes = r[x].shape[r[x].shape.rank() - 1];
      if (classes == 0) return;
      if (prior)
        return each(r, n / classes, classes,
                    SmoothRow<T>{classes, T(epsilon), r[x].as<const T>(), r[prior].as<const T>(),
                                 r[out].as<T>()});
      map(r, n, SmoothEvenly{1.0 - epsilon, double(epsilon) / static_cast<double>(classes)},
          r[out].as<T>(), r[x].as<const T>());
    };
  });
}

Kernel bind_label_smooth_grad(const Bind& b) {
  const Arg dout = b.in("Out@GRAD"), dx = b.out("X@GRAD");
  if (!dx) return [](const Run&) {};
  const auto epsilon = b.attr<float>("epsilon");
  return with_float(b.dtype("Out@GRAD"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      map(r, r[dx].numel(), SmoothEvenly{1.0 - epsilon, 0}, r[dx].as<T>(), r[dout].as<const T>());
    };
  });
}

}  // namespace

std::vector<OpDef> label_smooth_ops() {
  return {
      {.type = "label_smooth",
       .in = {{"X"}, {"PriorDist", SlotDef::optional}},
       .out = {{"Out"}},
       .attrs = {{"epsilon", 0.0f}},
       .infer = infer_label_smooth,
       .bind = bind_label_smooth,
       .grad = {"label_smooth_grad", {"Out@GRAD"}, {"X@GRAD"}}},
      {.type = "label_smooth_grad",
       .in = {{"Out@GRAD"}},
       .out = {{"X@GRAD", SlotDef::optional}},
       .attrs = {{"epsilon", 0.0f}},
       .infer = infer_grad_same,
       .bind = bind_label_smooth_grad},
  };
}

}  // namespace paddle
