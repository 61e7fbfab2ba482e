// softmax_with_cross_entropy: the loss of logits and class labels, along any axis.
#include "ops/labels.h"

namespace paddle {
namespace {

void infer_softmax_loss(Infer& i) {
  const Shape& x = i.shape("Logits");
  const int axis = resolve_axis(i, i.attr<int32_t>("axis"), x.rank());
  i.out_like("Softmax", "Logits");
  i.out("Loss", check_label(i, "Logits", axis, i.attr<bool>("soft_label")), i.dtype("Logits"));
  i.share_lod("Logits", "Loss");
}

template <class T, bool soft>
Kernel loss_kernel(const Bind& b) {
  const Arg x = b.in("Logits"), label = b.in("Label"), y = b.out("Softmax"), loss = b.out("Loss");
  const int64_t ignore = b.attr<int32_t>("ignore_index");
  const auto axis = b.attr<int32_t>("axis");
  const char* op = type_of(b);
  return [=](const Run& r) {
    const Around a(r[x].shape, axis);
    const View& l = r[label];
    T* out = y ? r[y].as<T>() : r.scratch.get<T>(r[x].numel());
    if constexpr (soft)
      softmax_loss(r, a, r[x].as<const T>(), l.as<const T>(), out, r[loss].as<T>());
    else
      softmax_loss(r, a, r[x].as<const T>(), checked_labels(r, l, a.columns(), a.n, ignore, op),
                   out, r[loss].as<T>());
  };
}

Kernel bind_softmax_loss(const Bind& b) {
  return with_float(b.dtype("Logits"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return b.attr<bool>("soft_label") ? loss_kernel<T, true>(b) : loss_kernel<T, false>(b);
  });
}

// dLogits = (weight * softmax - label) * dLoss, where the weight of a hard label is 1.
template <class T, bool soft>
Kernel loss_grad_kernel(const Bind& b) {
  const Arg label = b.in("Label"), y = b.in("Softmax"), dy = b.in("Loss@GRAD");
  const Arg dx = b.out("Logits@GRAD");
  const int64_t ignore = b.attr<int32_t>("ignore_index");
  const auto axis = b.attr<int32_t>("axis");
  const char* op = type_of(b);
  return [=](const Run& r) {
    const Around a(r[y].shape, axis);
    const T *p = r[y].as<const T>(), *g = r[dy].as<const T>();
    if constexpr (soft)
      softmax_loss_grad(r, a, p, r[label].as<const T>(), g, r[dx].as<T>());
    else
      softmax_loss_grad(r, a, p, checked_labels(r, r[label], a.columns(), a.n, ignore, op), g,
                        r[dx].as<T>());
  };
}

Kernel bind_softmax_loss_grad(const Bind& b) {
  return with_float(b.dtype("Softmax"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return b.attr<bool>("soft_label") ? loss_grad_kernel<T, true>(b)
                                      : loss_grad_kernel<T, false>(b);
  });
}

void infer_softmax_loss_grad(Infer& i) {
  const int axis = resolve_axis(i, i.attr<int32_t>("axis"), i.shape("Softmax").rank());
  const Shape loss = check_label(i, "Softmax", axis, i.attr<bool>("soft_label"));
  i.check(loss.compatible(i.shape("Loss@GRAD")) && i.dtype("Loss@GRAD") == i.dtype("Softmax"),
          "the gradient ", i.describe("Loss@GRAD"), " must be ", name_of(i.dtype("Softmax")), " ",
          loss, " as the loss of ", i.describe("Softmax"));
  i.out_like("Logits@GRAD", "Softmax");
}

}  // namespace

std::vector<OpDef> softmax_loss_ops() {
  const Attrs attrs = {
      {"soft_label", false}, {"ignore_index", -100}, {"numeric_stable_mode", true}, {"axis", -1}};
  return {
      {.type = "softmax_with_cross_entropy",
       .in = {{"Logits"}, {"Label"}},
       .out = {{"Softmax", SlotDef::intermediate}, {"Loss"}},
       .attrs = attrs,
       .infer = infer_softmax_loss,
       .bind = bind_softmax_loss,
       .grad = {"softmax_with_cross_entropy_grad",
                {"Label", "Softmax", "Loss@GRAD"},
                {"Logits@GRAD"}},
       .inplace = {{"Logits", "Softmax"}}},
      {.type = "softmax_with_cross_entropy_grad",
       .in = {{"Label"}, {"Softmax"}, {"Loss@GRAD"}},
       .out = {{"Logits@GRAD", SlotDef::optional}},
       .attrs = attrs,
       .infer = infer_softmax_loss_grad,
       .bind = bind_softmax_loss_grad,
       .inplace = {{"Softmax", "Logits@GRAD"}}},
  };
}

}  // namespace paddle
