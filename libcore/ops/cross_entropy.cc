// cross_entropy and cross_entropy2: losses of probabilities and class labels.
#include "kernels/class_loss.h"
#include "kernels/strided.h"
#include "ops/labels.h"

namespace paddle {
namespace {

void infer_cross_entropy(Infer& i) {
  const Shape& x = i.shape("X");
  i.check(x.rank() >= 1, i.describe("X"), " needs a dimension of classes");
  const bool soft = i.op().attrs.get<bool>("soft_label", false);
  const Shape loss = check_label(i, "X", x.rank() - 1, soft);
  i.out("Y", loss, i.dtype("X"));
  i.share_lod("X", "Y");
  i.out("MatchX", loss, i.dtype("X"));
  Shape with_zero = x;  // carries the shape of X and no memory
  if (i.has_out("XShape")) with_zero.append(0);
  i.out("XShape", with_zero, i.dtype("X"));
  i.share_lod("X", "XShape");
}

// y = -log of the probability of the label; `match`, where wanted, keeps that probability.
Kernel bind_hard(const Bind& b) {
  const Arg x = b.in("X"), label = b.in("Label"), y = b.out("Y"), match = b.out("MatchX");
  const int64_t ignore = b.attr<int32_t>("ignore_index");
  const char* op = type_of(b);
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const Around a(r[x].shape, -1);
      const ClassLabels labels = checked_labels(r, r[label], a.outer, a.n, ignore, op);
      cross_entropy(r, a.outer, a.n, r[x].as<const T>(), labels, r[y].as<T>(),
                    match ? r[match].as<T>() : nullptr);
    };
  });
}

Kernel bind_soft(const Bind& b) {
  const Arg x = b.in("X"), label = b.in("Label"), y = b.out("Y");
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const Around a(r[x].shape, -1);
      soft_cross_entropy(r, a.outer, a.n, r[x].as<const T>(), r[label].as<const T>(), r[y].as<T>());
    };
  });
}

Kernel bind_cross_entropy(const Bind& b) {
  return b.attr<bool>("soft_label") ? bind_soft(b) : bind_hard(b);
}

// dX is zero but at the label, where it is -dY / p; p stands in X, or alone in MatchX.
Kernel bind_hard_grad(const Bind& b) {
  const Arg x = b.in("X"), match = b.in("MatchX"), label = b.in("Label");
  const Arg dy = b.in("Y@GRAD"), dx = b.out("X@GRAD");
  const int64_t ignore = b.attr<int32_t>("ignore_index");
  const char* op = type_of(b);
  return with_float(b.dtype("Y@GRAD"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const Around a(r[dx].shape, -1);
      const ClassLabels labels = checked_labels(r, r[label], a.outer, a.n, ignore, op);
      cross_entropy_grad(r, a.outer, a.n, r[match ? match : x].as<const T>(), bool(match), labels,
                         r[dy].as<const T>(), r[dx].as<T>());
    };
  });
}

Kernel bind_soft_grad(const Bind& b) {
  const Arg x = b.in("X"), label = b.in("Label"), dy = b.in("Y@GRAD"), dx = b.out("X@GRAD");
  return with_float(b.dtype("Y@GRAD"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const Around a(r[x].shape, -1);
      soft_cross_entropy_grad(r, a.outer, a.n, r[x].as<const T>(), r[label].as<const T>(),
                              r[dy].as<const T>(), r[dx].as<T>());
    };
  });
}

Kernel bind_cross_entropy_grad(const Bind& b) {
  return b.attr<bool>("soft_label") ? bind_soft_grad(b) : bind_hard_grad(b);
}

void infer_cross_entropy_grad2(Infer& i) {
  const Shape &kept = i.shape("XShape"), &dy = i.shape("Y@GRAD");
  i.check(kept.rank() >= 2, i.describe("XShape"), " must be the shape of X and a 0");
  Shape loss = kept.slice(0, kept.rank() - 1);
  loss[loss.rank() - 1] = 1;
  i.check(i.dtype("Label") == DType::i64, "Label must be int64, found ", name_of(i.dtype("Label")));
  i.check(loss.compatible(dy) && (loss.numel() < 0 || i.shape("Label").numel() < 0 ||
                                  loss.numel() == i.shape("Label").numel()),
          "the gradient ", i.describe("Y@GRAD"), " and ", i.describe("Label"),
          " must have the rows of ", i.describe("XShape"));
  i.out("X@GRAD", kept.slice(0, kept.rank() - 1), i.dtype("Y@GRAD"));
  i.share_lod("XShape", "X@GRAD");
}

}  // namespace

std::vector<OpDef> cross_entropy_ops() {
  const Attrs attrs = {{"soft_label", false}, {"ignore_index", -100}};
  const Attrs hard_attrs = {{"ignore_index", -100}};
  return {
      {.type = "cross_entropy",
       .in = {{"X"}, {"Label"}},
       .out = {{"Y"}},
       .attrs = attrs,
       .infer = infer_cross_entropy,
       .bind = bind_cross_entropy,
       .grad = {"cross_entropy_grad", {"X", "Label", "Y@GRAD"}, {"X@GRAD"}}},
      {.type = "cross_entropy_grad",
       .in = {{"X"}, {"Label"}, {"Y@GRAD"}},
       .out = {{"X@GRAD", SlotDef::optional}},
       .attrs = attrs,
       .infer = infer_grad_same,
       .bind = bind_cross_entropy_grad},
      {.type = "cross_entropy2",
       .in = {{"X"}, {"Label"}},
       .out = {{"Y"}, {"MatchX", SlotDef::intermediate}, {"XShape", SlotDef::intermediate}},
       .attrs = hard_attrs,
       .infer = infer_cross_entropy,
       .bind = bind_hard,
       .grad = {"cross_entropy_grad2", {"Label", "MatchX", "XShape", "Y@GRAD"}, {"X@GRAD"}}},
      {.type = "cross_entropy_grad2",
       .in = {{"Label"}, {"MatchX"}, {"XShape"}, {"Y@GRAD"}},
       .out = {{"X@GRAD", SlotDef::optional}},
       .attrs = hard_attrs,
       .infer = infer_cross_entropy_grad2,
       .bind = bind_hard_grad,
       .shape_only = {"XShape"}},
  };
}

}  // namespace paddle
