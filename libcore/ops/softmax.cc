// softmax and log_softmax along one axis.
#include "kernels/softmax.h"

#include "ops/common.h"

namespace paddle {
namespace {

void infer_softmax(Infer& i) {
  resolve_axis(i, i.attr<int32_t>("axis"), i.shape("X").rank());
  infer_same(i);
}

void infer_softmax_grad(Infer& i) {
  resolve_axis(i, i.attr<int32_t>("axis"), i.shape("Out").rank());
  infer_grad_same(i);
}

template <bool log>
Kernel bind_forward(const Bind& b) {
  const Arg x = b.in("X"), out = b.out("Out");
  const auto axis = b.attr<int32_t>("axis");
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const Around a(r[x].shape, axis);
      const auto call = log ? log_softmax<T> : softmax<T>;
      call(r, r.scratch, a, r[x].as<const T>(), r[out].as<T>());
    };
  });
}

template <bool log>
Kernel bind_backward(const Bind& b) {
  const Arg y = b.in("Out"), dy = b.in("Out@GRAD"), dx = b.out("X@GRAD");
  const auto axis = b.attr<int32_t>("axis");
  return with_float(b.dtype("Out@GRAD"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const Around a(r[y].shape, axis);
      const auto call = log ? log_softmax_grad<T> : softmax_grad<T>;
      call(r, r.scratch, a, r[y].as<const T>(), r[dy].as<const T>(), r[dx].as<T>());
    };
  });
}

template <bool log>
void add(std::vector<OpDef>& defs, const std::string& type) {
  const Attrs attrs = {{"axis", -1}};
  defs.push_back({.type = type,
                  .in = {{"X"}},
                  .out = {{"Out"}},
                  .attrs = attrs,
                  .infer = infer_softmax,
                  .bind = bind_forward<log>,
                  .grad = {type + "_grad", {"Out", "Out@GRAD"}, {"X@GRAD"}},
                  .inplace = {{"X", "Out"}}});
  defs.push_back({.type = type + "_grad",
                  .in = {{"Out"}, {"Out@GRAD"}},
                  .out = {{"X@GRAD", SlotDef::optional}},
                  .attrs = attrs,
                  .infer = infer_softmax_grad,
                  .bind = bind_backward<log>,
                  .inplace = {{"Out@GRAD", "X@GRAD"}}});
}

}  // namespace

std::vector<OpDef> softmax_ops() {
  std::vector<OpDef> defs;
  add<false>(defs, "softmax");
  add<true>(defs, "log_softmax");
  return defs;
}

}  // namespace paddle
