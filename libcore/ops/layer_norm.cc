// layer_norm: every row brought to mean 0 and variance 1.
#include "kernels/layer_norm.h"

#include "ops/common.h"

namespace paddle {
namespace {

void check_layer_norm(const Infer& i) {
  const Shape& x = i.shape("X");
  const auto axis = i.attr<int32_t>("begin_norm_axis");
  i.check(axis >= 1 && axis < x.rank(), "begin_norm_axis ", axis, " must lie inside of ",
          i.describe("X"));
  for (const char* slot : {"Scale", "Bias"})
    if (i.has(slot))
      i.check(i.shape(slot).compatible({x.product(axis, x.rank())}), i.describe(slot),
              " must have one value for each element of a row of ", i.describe("X"));
}

void infer_layer_norm(Infer& i) {
  check_layer_norm(i);
  i.out_like("Y", "X");
  const Shape rows{i.shape("X").product(0, i.attr<int32_t>("begin_norm_axis"))};
  i.out("Mean", rows, i.dtype("X"));
  i.out("Variance", rows, i.dtype("X"));
}

void infer_layer_norm_grad(Infer& i) {
  check_layer_norm(i);
  i.check_same("X", "Y@GRAD");
  i.out_like("X@GRAD", "X");
  const Shape& x = i.shape("X");
  const Shape width{x.product(i.attr<int32_t>("begin_norm_axis"), x.rank())};
  i.out("Scale@GRAD", width, i.dtype("X"));
  i.out("Bias@GRAD", width, i.dtype("X"));
}

template <class T>
T* data_or_null(const Run& r, Arg a) {
  return a ? static_cast<T*>(r[a].data) : nullptr;
}

Kernel bind_layer_norm(const Bind& b) {
  const Arg x = b.in("X"), scale = b.in("Scale"), bias = b.in("Bias"), y = b.out("Y"),
            mean = b.out("Mean"), variance = b.out("Variance");
  const auto epsilon = static_cast<double>(b.attr<float>("epsilon"));
  const auto axis = b.attr<int32_t>("begin_norm_axis");
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const Shape& s = r[x].shape;
      layer_norm<T>(r, s.product(0, axis), s.product(axis, s.rank()), epsilon, r[x].as<const T>(),
                    data_or_null<T>(r, scale), data_or_null<T>(r, bias), r[y].as<T>(),
                    data_or_null<T>(r, mean), data_or_null<T>(r, variance));
    };
  });
}

Kernel bind_layer_norm_grad(const Bind& b) {
  const Arg x = b.in("X"), scale = b.in("Scale"), mean = b.in("Mean"), variance = b.in("Variance"),
            dy = b.in("Y@GRAD"), dx = b.out("X@GRAD"), dscale = b.out("Scale@GRAD"),
            dbias = b.out("Bias@GRAD");
  const auto epsilon = static_cast<double>(b.attr<float>("epsilon"));
  const auto axis = b.attr<int32_t>("begin_norm_axis");
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const Shape& s = r[x].shape;
      layer_norm_grad<T>(r, r.scratch, s.product(0, axis), s.product(axis, s.rank()), epsilon,
                         r[x].as<const T>(), r[dy].as<const T>(), data_or_null<T>(r, scale),
                         r[mean].as<const T>(), r[variance].as<const T>(), data_or_null<T>(r, dx),
                         data_or_null<T>(r, dscale), data_or_null<T>(r, dbias));
    };
  });
}

}  // namespace

std::vector<OpDef> layer_norm_ops() {
  std::vector<OpDef> defs;
  const Attrs attrs{{"epsilon", 1e-5f}, {"begin_norm_axis", 1}};
  defs.push_back(
      {.type = "layer_norm",
       .in = {{"X"}, {"Scale", SlotDef::optional}, {"Bias", SlotDef::optional}},
       .out = {{"Y"}, {"Mean", SlotDef::intermediate}, {"Variance", SlotDef::intermediate}},
       .attrs = attrs,
       .infer = infer_layer_norm,
       .bind = bind_layer_norm,
       .grad = {"layer_norm_grad",
                {"X", "Scale", "Bias", "Mean", "Variance", "Y@GRAD"},
                {"X@GRAD", "Scale@GRAD", "Bias@GRAD"}}});
  defs.push_back({.type = "layer_norm_grad",
                  .in = {{"X"},
                         {"Scale", SlotDef::optional},
                         {"Bias", SlotDef::optional},  // PaddlePaddle reads its shape
                         {"Mean"},
                         {"Variance"},
                         {"Y@GRAD"}},
                  .out = {{"X@GRAD", SlotDef::optional},
                          {"Scale@GRAD", SlotDef::optional},
                          {"Bias@GRAD", SlotDef::optional}},
                  .attrs = attrs,
                  .infer = infer_layer_norm_grad,
                  .bind = bind_layer_norm_grad,
                  .shape_only = {"Bias"}});
  return defs;
}

}  // namespace paddle
