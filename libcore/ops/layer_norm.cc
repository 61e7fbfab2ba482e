// layer_norm: every row brought to mean 0 and variance 1.
#include <algorithm>
#include <cmath>

#include "ops/common.h"
#include "ops/lane_sum.h"

namespace paddle {
namespace {

void check_layer_norm(const Infer& i) {
  const Shape& x = i.shape("X");
  const auto axis = i.attr<int32_t>("begin_norm_axis");
  i.check(axis >= 1 && axis < x.rank(), "begin_norm_axis ", axis, " must lie inside of ",
          i.tell("X"));
  for (const char* slot : {"Scale", "Bias"})
    if (i.has(slot))
      i.check(i.shape(slot).compatible({x.product(axis, x.rank())}), i.tell(slot),
              " must have one value for each element of a row of ", i.tell("X"));
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
PS_CLONES void norm_row(int64_t n, const T* x, const T* scale, const T* bias, double epsilon, T* y,
                        double* mean, double* variance) {
  *mean = lane_sum<T>(n, [=](int64_t k) { return x[k]; }) / static_cast<double>(n);
  const T m = static_cast<T>(*mean);
  *variance =
      lane_sum<T>(n, [=](int64_t k) { return (x[k] - m) * (x[k] - m); }) / static_cast<double>(n);
  const T inverse = static_cast<T>(1 / std::sqrt(*variance + epsilon));
  PS_IVDEP
  for (int64_t k = 0; k < n; ++k) y[k] = (x[k] - m) * inverse;
  if (scale != nullptr)
    for (int64_t k = 0; k < n; ++k) y[k] *= scale[k];
  if (bias != nullptr)
    for (int64_t k = 0; k < n; ++k) y[k] += bias[k];
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
      const int64_t rows = s.product(0, axis), n = s.product(axis, s.rank());
      const T* gain = scale ? r[scale].as<const T>() : nullptr;
      const T* offset = bias ? r[bias].as<const T>() : nullptr;
      const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, n));
      r.pool.parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k) {
          double m = 0, v = 0;
          norm_row<T>(n, r[x].as<const T>() + k * n, gain, offset, epsilon, r[y].as<T>() + k * n,
                      &m, &v);
          if (mean) r[mean].as<T>()[k] = static_cast<T>(m);
          if (variance) r[variance].as<T>()[k] = static_cast<T>(v);
        }
      });
    };
  });
}

template <class T>
PS_CLONES void norm_row_grad(int64_t n, const T* x, const T* dy, const T* scale, T mean, T inverse,
                             T* dx) {
  const auto g = [=](int64_t k) { return scale != nullptr ? dy[k] * scale[k] : dy[k]; };
  const auto count = static_cast<double>(n);
  const T shift = static_cast<T>(lane_sum<T>(n, g) / count);
  const T slope = static_cast<T>(lane_sum<T>(n, [=](int64_t k) { return g(k) * (x[k] - mean); }) /
                                 count * static_cast<double>(inverse * inverse));
  for (int64_t k = 0; k < n; ++k) dx[k] = inverse * (g(k) - shift - (x[k] - mean) * slope);
}

// Columns [begin, end) of the gradients of Scale and Bias; either may be null.
template <class T>
PS_CLONES void norm_columns_grad(int64_t rows, int64_t n, int64_t begin, int64_t end, const T* x,
                                 const T* dy, const T* mean, const T* inverse, T* dscale,
                                 T* dbias) {
  if (dscale != nullptr) std::fill(dscale + begin, dscale + end, T(0));
  if (dbias != nullptr) std::fill(dbias + begin, dbias + end, T(0));
  for (int64_t r = 0; r < rows; ++r, x += n, dy += n) {
    const T m = mean[r], inv = inverse[r];
    if (dscale != nullptr)
      for (int64_t k = begin; k < end; ++k) dscale[k] += dy[k] * (x[k] - m) * inv;
    if (dbias != nullptr)
      for (int64_t k = begin; k < end; ++k) dbias[k] += dy[k];
  }
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
      const int64_t rows = s.product(0, axis), n = s.product(axis, s.rank());
      const T *px = r[x].as<const T>(), *pdy = r[dy].as<const T>(), *pm = r[mean].as<const T>();
      const T* gain = scale ? r[scale].as<const T>() : nullptr;
      T* inverse = r.scratch.get<T>(rows);
      for (int64_t k = 0; k < rows; ++k)
        inverse[k] = static_cast<T>(
            1 / std::sqrt(static_cast<double>(r[variance].as<const T>()[k]) + epsilon));
      if (dx)
        r.pool.parallel_for(rows, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, n)),
                            [&](int64_t begin, int64_t end) {
                              for (int64_t k = begin; k < end; ++k)
                                norm_row_grad<T>(n, px + k * n, pdy + k * n, gain, pm[k],
                                                 inverse[k], r[dx].as<T>() + k * n);
                            });
      if (dscale || dbias)
        r.pool.parallel_for(n, std::max<int64_t>(16, 16384 / std::max<int64_t>(1, rows)),
                            [&](int64_t begin, int64_t end) {
                              norm_columns_grad<T>(rows, n, begin, end, px, pdy, pm, inverse,
                                                   dscale ? r[dscale].as<T>() : nullptr,
                                                   dbias ? r[dbias].as<T>() : nullptr);
                            });
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
                {"X", "Scale", "Mean", "Variance", "Y@GRAD"},
                {"X@GRAD", "Scale@GRAD", "Bias@GRAD"}}});
  defs.push_back({.type = "layer_norm_grad",
                  .in = {{"X"}, {"Scale", SlotDef::optional}, {"Mean"}, {"Variance"}, {"Y@GRAD"}},
                  .out = {{"X@GRAD", SlotDef::optional},
                          {"Scale@GRAD", SlotDef::optional},
                          {"Bias@GRAD", SlotDef::optional}},
                  .attrs = attrs,
                  .infer = infer_layer_norm_grad,
                  .bind = bind_layer_norm_grad});
  return defs;
}

}  // namespace paddle
