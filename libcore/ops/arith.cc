// Arithmetic on whole tensors: scaling, differences, means, norms and copies.
#include <type_traits>

#include "kernels/broadcast.h"
#include "kernels/map.h"
#include "kernels/memory.h"
#include "kernels/reduce.h"
#include "ops/common.h"
#include "ops/row_view.h"

namespace paddle {
namespace {

void infer_one(Infer& i) {
  i.check(i.in("X").kind != VarKind::selected_rows, "X (", i.op().in["X"][0],
          ") holds selected rows: merge them and make them dense first");
  i.out("Out", Shape{1}, i.dtype("X"));
}

// Integers are scaled in double, so that a factor of 0.5 is not one of 0.
template <class T>
struct Scale {
  using Wide = std::conditional_t<std::is_integral_v<T>, double, T>;
  Wide scale, bias;
  bool after;
  PS_HD T operator()(T x) const {
    const Wide v = static_cast<Wide>(x);
    return static_cast<T>(after ? scale * v + bias : scale * (v + bias));
  }
};

Kernel bind_scale(const Bind& b) {
  const Arg x = b.in("X"), out = b.out("Out");
  const auto scale = b.attr<float>("scale"), bias = b.attr<float>("bias");
  const bool after = b.attr<bool>("bias_after_scale");
  return with_number(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      if (r[x].is_rows) copy_rows(r, r[x], r[out]);
      map(r, r[x].numel(), Scale<T>{scale, bias, after}, r[out].as<T>(), r[x].as<const T>());
    };
  });
}

std::vector<Op> scale_grad(const Op& forward, const Want& want) {
  const std::string& x = forward.in["X"][0];
  if (!want(x)) return {};
  return {scaled_grad(forward, x, forward.attrs.get<float>("scale", 1.0f))};
}

void infer_minus(Infer& i) {
  i.check_same("X", "Y");
  i.out_like("Out", "X");
}

struct Minus {
  template <class T>
  PS_HD T operator()(T x, T y) const {
    return x - y;
  }
};

Kernel bind_minus(const Bind& b) {
  const Arg x = b.in("X"), y = b.in("Y"), out = b.out("Out");
  return with_number(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      map(r, r[x].numel(), Minus{}, r[out].as<T>(), r[x].as<const T>(), r[y].as<const T>());
    };
  });
}

std::vector<Op> minus_grad(const Op& forward, const Want& want) {
  std::vector<Op> ops;
  for (const auto& [slot, factor] : {std::pair{"X", 1.0f}, std::pair{"Y", -1.0f}})
    if (want(forward.in[slot][0])) ops.push_back(scaled_grad(forward, forward.in[slot][0], factor));
  return ops;
}

Kernel bind_assign(const Bind& b) {
  const Arg x = b.in("X"), out = b.out("Out");
  return [=](const Run& r) {
    if (r[x].is_rows) copy_rows(r, r[x], r[out]);
    copy_elements(r, r[x].numel(), size_of(r[x].dtype), r[out].data, r[x].data);
  };
}

std::vector<Op> assign_grad(const Op& forward, const Want& want) {
  const std::string& x = forward.in["X"][0];
  if (!want(x)) return {};
  return {Op{.type = "assign",
             .in = {{"X", {grad_name(forward.out["Out"][0])}}},
             .out = {{"Out", {grad_name(x)}}}}};
}

void infer_increment(Infer& i) {
  i.check(i.shape("X").numel() == 1 || !i.shape("X").known(), i.describe("X"),
          " must have one element");
  i.out_like("Out", "X");
}

template <class T>
struct Plus {
  T step;
  PS_HD T operator()(T x) const { return x + step; }
};

Kernel bind_increment(const Bind& b) {
  const Arg x = b.in("X"), out = b.out("Out");
  const auto step = b.attr<float>("step");
  return with_number(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      map(r, 1, Plus<T>{static_cast<T>(step)}, r[out].as<T>(), r[x].as<const T>());
    };
  });
}

template <class T>
struct Over {
  T n;
  PS_HD T operator()(T x) const { return x / n; }
};

Kernel bind_mean(const Bind& b) {
  const Arg x = b.in("X"), out = b.out("Out");
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const int64_t n = r[x].numel();
      sum(r, n, r[x].as<const T>(), r[out].as<T>());
      map(r, 1, Over<T>{static_cast<T>(n)}, r[out].as<T>(), r[out].as<const T>());
    };
  });
}

Kernel bind_mean_grad(const Bind& b) {
  const Arg d = b.in("Out@GRAD"), dx = b.out("X@GRAD");
  return with_float(b.dtype("Out@GRAD"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const int64_t n = r[dx].numel();
      broadcast(r, one_for_all(n), Over<T>{static_cast<T>(n)}, r[dx].as<T>(), r[d].as<const T>());
    };
  });
}

Kernel bind_squared_norm(const Bind& b) {
  const Arg x = b.in("X"), out = b.out("Out");
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) { sum_squares(r, r[x].numel(), r[x].as<const T>(), r[out].as<T>()); };
  });
}

struct SquareGrad {
  template <class T>
  PS_HD T operator()(T d, T x) const {
    return 2 * d * x;
  }
};

Kernel bind_squared_norm_grad(const Bind& b) {
  const Arg x = b.in("X"), d = b.in("Out@GRAD"), dx = b.out("X@GRAD");
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      broadcast(r, one_for_all(r[x].numel()), SquareGrad{}, r[dx].as<T>(), r[d].as<const T>(),
                r[x].as<const T>());
    };
  });
}

void infer_isfinite(Infer& i) { i.out("Out", Shape{1}, DType::boolean); }

bool finite(const Run& r, const View& v) {
  if (v.dtype != DType::f32 && v.dtype != DType::f64) return true;
  return with_float(
      v.dtype, [&](auto t) { return !any_not_finite(r, v.numel(), v.as<const decltype(t)>()); });
}

Kernel bind_isfinite(const Bind& b) {
  const Arg x = b.in("X"), out = b.out("Out");
  return [=](const Run& r) {
    bool all = true;
    for (int k = 0; k < x.count && all; ++k) all = finite(r, r.at(x, k));
    write_one(r, all, r[out].as<bool>());
  };
}

}  // namespace

std::vector<OpDef> arith_ops() {
  const Attrs scale_attrs{{"scale", 1.0f}, {"bias", 0.0f}, {"bias_after_scale", true}};
  const SlotDef dx{"X@GRAD", SlotDef::optional};
  return {
      {.type = "scale",
       .in = {{"X"}},
       .out = {{"Out"}},
       .attrs = scale_attrs,
       .infer = infer_same,
       .bind = bind_scale,
       .make_grad = scale_grad,
       .inplace = {{"X", "Out"}},
       .elementwise = true},
      {.type = "minus",
       .in = {{"X"}, {"Y"}},
       .out = {{"Out"}},
       .infer = infer_minus,
       .bind = bind_minus,
       .make_grad = minus_grad,
       .inplace = {{"X", "Out"}}},
      {.type = "assign",
       .in = {{"X"}},
       .out = {{"Out"}},
       .infer = infer_same,
       .bind = bind_assign,
       .make_grad = assign_grad,
       .inplace = {{"X", "Out"}},
       .elementwise = true},
      {.type = "increment",
       .in = {{"X"}},
       .out = {{"Out"}},
       .attrs = {{"step", 1.0f}},
       .infer = infer_increment,
       .bind = bind_increment,
       .inplace = {{"X", "Out"}}},
      {.type = "mean",
       .in = {{"X"}},
       .out = {{"Out"}},
       .infer = infer_one,
       .bind = bind_mean,
       .grad = {"mean_grad", {"X", "Out@GRAD"}, {"X@GRAD"}}},
      {.type = "mean_grad",
       .in = {{"X"}, {"Out@GRAD"}},
       .out = {dx},
       .infer = infer_grad_same,
       .bind = bind_mean_grad,
       .shape_only = {"X"}},
      {.type = "squared_l2_norm",
       .in = {{"X"}},
       .out = {{"Out"}},
       .infer = infer_one,
       .bind = bind_squared_norm,
       .grad = {"squared_l2_norm_grad", {"X", "Out@GRAD"}, {"X@GRAD"}}},
      {.type = "squared_l2_norm_grad",
       .in = {{"X"}, {"Out@GRAD"}},
       .out = {dx},
       .infer = infer_grad_same,
       .bind = bind_squared_norm_grad,
       .inplace = {{"X", "X@GRAD"}}},
      {.type = "isfinite",
       .in = {{"X", SlotDef::many}},
       .out = {{"Out"}},
       .infer = infer_isfinite,
       .bind = bind_isfinite},
  };
}

}  // namespace paddle
