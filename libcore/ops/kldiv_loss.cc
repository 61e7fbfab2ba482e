// kldiv_loss: target * (log(target) - x) where the target is above 0, else 0; x are logarithms of
// probabilities. Reduced to one number, or not.
#include "kernels/map.h"
#include "kernels/math.h"
#include "kernels/memory.h"
#include "kernels/reducing.h"
#include "ops/common.h"

namespace paddle {
namespace {

struct Divergence {
  template <class T>
  PS_INLINE PS_HD T operator()(T x, T target) const {
    return target > 0 ? target * (paddle::log(target) - x) : T(0);
  }
};
struct Times {
  double by;
  template <class T>
  PS_INLINE PS_HD T operator()(T x) const {
    return x * T(by);
  }
};
struct DivergenceGrad {  // where the loss has a number per element
  template <class T>
  PS_INLINE PS_HD T operator()(T target, T dloss) const {
    return target > 0 ? -target * dloss : T(0);
  }
};
template <class T>
struct DivergenceGradOfAll {
  T dloss;
  PS_INLINE PS_HD T operator()(T target) const { return target > 0 ? -target * dloss : T(0); }
};

// What the sum over all elements is multiplied by; 0 where nothing is reduced.
double factor_of(const std::string& reduction, const Shape& x) {
  if (reduction == "none") return 0;
  const int64_t by = reduction == "mean" ? x.numel() : reduction == "batchmean" ? x[0] : 1;
  return by == 0 ? 0 : 1.0 / static_cast<double>(by);
}

void infer_kldiv(Infer& i) {
  i.check_same("X", "Target");
  i.check(i.dtype("X") == i.dtype("Target"), "X and Target must have one type");
  const auto reduction = i.attr<std::string>("reduction");
  i.check(
      reduction == "none" || reduction == "mean" || reduction == "batchmean" || reduction == "sum",
      "reduction must be mean, batchmean, sum or none, found '", reduction, "'");
  i.check(i.shape("X").rank() >= 1, i.describe("X"), " needs at least one dimension");
  if (reduction == "none")
    i.out_like("Loss", "X");
  else
    i.out("Loss", {1}, i.dtype("X"));
}

Kernel bind_kldiv(const Bind& b) {
  const Arg x = b.in("X"), target = b.in("Target"), loss = b.out("Loss");
  const auto reduction = b.attr<std::string>("reduction");
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const int64_t n = r[x].numel();
      const bool each_one = reduction == "none";
      // Behind what the sum takes of the scratch.
      const int64_t parts = n / reducing::reduce_block + 1;
      T* losses = each_one ? r[loss].as<T>() : r.scratch.get<T>(parts + n) + parts;
      map(r, n, Divergence{}, losses, r[x].as<const T>(), r[target].as<const T>());
      if (each_one) return;
      Reduction sum;
      sum.add(n, true);
      sum.run<reducing::Sum>(r, r.scratch, losses, r[loss].as<T>());
      map(r, 1, Times{factor_of(reduction, r[x].shape)}, r[loss].as<T>(), r[loss].as<const T>());
    };
  });
}

void infer_kldiv_grad(Infer& i) {
  const Shape &dloss = i.shape("Loss@GRAD"), &target = i.shape("Target");
  i.check(i.attr<std::string>("reduction") == "none" ? dloss.compatible(target)
                                                     : dloss.numel() == 1 || !dloss.known(),
          i.describe("Loss@GRAD"), " does not fit the loss of ", i.describe("Target"));
  i.check(target.rank() >= 1, i.describe("Target"), " needs at least one dimension");
  if (i.has_out("X@GRAD")) i.out_like("X@GRAD", "Target");
}

Kernel bind_kldiv_grad(const Bind& b) {
  const Arg target = b.in("Target"), dloss = b.in("Loss@GRAD"), dx = b.out("X@GRAD");
  if (!dx) return [](const Run&) {};
  const auto reduction = b.attr<std::string>("reduction");
  return with_float(b.dtype("Target"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const int64_t n = r[target].numel();
      if (reduction == "none")
        return map(r, n, DivergenceGrad{}, r[dx].as<T>(), r[target].as<const T>(),
                   r[dloss].as<const T>());
      const T all = read_one(r, r[dloss].as<const T>()) * T(factor_of(reduction, r[target].shape));
      map(r, n, DivergenceGradOfAll<T>{all}, r[dx].as<T>(), r[target].as<const T>());
    };
  });
}

}  // namespace

std::vector<OpDef> kldiv_loss_ops() {
  const Attrs attrs{{"reduction", std::string("mean")}};
  return {
      {.type = "kldiv_loss",
       .in = {{"X"}, {"Target"}},
       .out = {{"Loss"}},
       .attrs = attrs,
       .infer = infer_kldiv,
       .bind = bind_kldiv,
       .grad = {"kldiv_loss_grad", {"X", "Target", "Loss@GRAD"}, {"X@GRAD"}}},
      {.type = "kldiv_loss_grad",
       .in = {{"X", SlotDef::optional}, {"Target"}, {"Loss@GRAD"}},  // PaddlePaddle reads its shape
       .out = {{"X@GRAD", SlotDef::optional}},
       .attrs = attrs,
       .infer = infer_kldiv_grad,
       .bind = bind_kldiv_grad,
       .shape_only = {"X"}},
  };
}

}  // namespace paddle
