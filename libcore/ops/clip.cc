// Limits on values and norms, for dense tensors and for selected rows. Rows that occur more than
// once stand for their sum, so that is what is limited.
#include <cmath>

#include "kernels/broadcast.h"
#include "kernels/map.h"
#include "kernels/memory.h"
#include "kernels/reduce.h"
#include "ops/common.h"
#include "ops/row_view.h"

namespace paddle {
namespace {

struct Limit {
  float min, max;
  template <class T>
  PS_HD T operator()(T x) const {
    const T low = min, high = max;
    return x < low ? low : x > high ? high : x;
  }
};
struct LimitGrad {
  float min, max;
  template <class T>
  PS_HD T operator()(T x, T dy) const {
    return x > T(min) && x < T(max) ? dy : T(0);
  }
};

void infer_clip(Infer& i) {
  i.check(i.attr<float>("min") <= i.attr<float>("max"), "min is ", i.attr<float>("min"),
          " and max is ", i.attr<float>("max"));
  infer_same(i);
}

// Sums repeated rows into the first groups of `out`, and returns how many those are.
template <class T>
int64_t merge_into(const Run& r, const View& x, int64_t* ids, T* values) {
  const auto bytes = static_cast<int64_t>(row_scratch_bytes(x.shape[0]));
  return merge_rows(r, x.rows, x.shape[0], row_width(x), x.as<const T>(),
                    r.scratch.get<char>(bytes), ids, values);
}

// The output keeps the input's number of rows: the merged ones come first, and those left over
// repeat the first id with zeros.
template <class T>
void clip_rows(const Run& r, const View& x, View& out, const Limit& limit) {
  const int64_t count = x.shape[0], width = row_width(x);
  const int64_t groups = merge_into<T>(r, x, out.row_buffer, out.as<T>());
  map(r, groups * width, limit, out.as<T>(), out.as<const T>());
  pad_rows(r, groups, count, width, out.row_buffer, out.as<T>());
  out.rows = out.row_buffer;
}

Kernel bind_clip(const Bind& b) {
  const Arg x = b.in("X"), out = b.out("Out");
  const Limit limit{b.attr<float>("min"), b.attr<float>("max")};
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      if (r[x].is_rows) return clip_rows<T>(r, r[x], r[out], limit);
      map(r, r[x].numel(), limit, r[out].as<T>(), r[x].as<const T>());
    };
  });
}

Kernel bind_clip_grad(const Bind& b) {
  const Arg x = b.in("X"), d = b.in("Out@GRAD"), dx = b.out("X@GRAD");
  const LimitGrad limit{b.attr<float>("min"), b.attr<float>("max")};
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      map(r, r[x].numel(), limit, r[dx].as<T>(), r[x].as<const T>(), r[d].as<const T>());
    };
  });
}

// The norm is that of the merged rows; scaling needs no merge, so the rows stay as they are. Out
// holds the merged values in between.
template <class T>
void squares(const Run& r, const View& x, View& out, T* sum) {
  if (!x.is_rows) return sum_squares(r, x.numel(), x.as<const T>(), sum);
  const int64_t groups = merge_into<T>(r, x, out.row_buffer, out.as<T>());
  sum_squares(r, groups * row_width(x), out.as<const T>(), sum);
}

// What brings a norm, given as its square, below the limit; 1 where it is below already.
struct NormFactor {
  float max_norm;
  template <class T>
  PS_HD T operator()(T squares) const {
    const T norm = std::sqrt(squares), limit = T(max_norm);
    return norm > limit ? limit / norm : T(1);
  }
};
struct Times {
  template <class T>
  PS_HD T operator()(T factor, T x) const {
    return factor * x;
  }
};

void infer_clip_by_norm(Infer& i) {
  i.check(i.attr<float>("max_norm") > 0, "max_norm must be greater than 0, found ",
          i.attr<float>("max_norm"));
  infer_same(i);
}

Kernel bind_clip_by_norm(const Bind& b) {
  const Arg x = b.in("X"), out = b.out("Out");
  const auto max_norm = b.attr<float>("max_norm");
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      // Behind what merge_into() uses of the scratch.
      const size_t merge = r[x].is_rows ? row_scratch_bytes(r[x].shape[0]) : 0;
      T* factor = r.scratch.get<T>(static_cast<int64_t>(merge / sizeof(T)) + 1) + merge / sizeof(T);
      squares<T>(r, r[x], r[out], factor);
      if (r[x].is_rows) copy_rows(r, r[x], r[out]);
      map(r, 1, NormFactor{max_norm}, factor, static_cast<const T*>(factor));
      broadcast(r, one_for_all(r[x].numel()), Times{}, r[out].as<T>(),
                static_cast<const T*>(factor), r[x].as<const T>());
    };
  });
}

// Where the norm n of x is above the limit m, y = x * m / n, so dx = m / n * (dy - x * (x . dy) /
// n^2); elsewhere dx = dy.
template <class T>
struct NormGrad {
  T factor, along;
  PS_HD T operator()(T x, T dy) const { return factor * (dy - x * along); }
};
struct Product {
  template <class T>
  PS_HD T operator()(T a, T b) const {
    return a * b;
  }
};

Kernel bind_clip_by_norm_grad(const Bind& b) {
  const Arg x = b.in("X"), d = b.in("Out@GRAD"), dx = b.out("X@GRAD");
  const auto max_norm = b.attr<float>("max_norm");
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const int64_t n = r[x].numel();
      const T *from = r[x].as<const T>(), *grad = r[d].as<const T>();
      T* sums = r.scratch.get<T>(2 + n);
      sum_squares(r, n, from, sums);
      map(r, n, Product{}, sums + 2, from, grad);
      sum(r, n, sums + 2, sums + 1);
      const T squares = read_one(r, sums), factor = NormFactor{max_norm}(squares);
      const T along = factor < T(1) ? read_one(r, sums + 1) / squares : T(0);
      map(r, n, NormGrad<T>{factor, along}, r[dx].as<T>(), from, grad);
    };
  });
}

}  // namespace

std::vector<OpDef> clip_ops() {
  const Attrs limits{{"min", 0.0f}, {"max", 0.0f}};
  // Not in place: merged rows must not overlap the ones that they are sums of.
  return {
      {.type = "clip",
       .in = {{"X"}},
       .out = {{"Out"}},
       .attrs = limits,
       .infer = infer_clip,
       .bind = bind_clip,
       .grad = {"clip_grad", {"X", "Out@GRAD"}, {"X@GRAD"}},
       .required_attrs = {"min", "max"},
       .elementwise = true},
      {.type = "clip_grad",
       .in = {{"X"}, {"Out@GRAD"}},
       .out = {{"X@GRAD", SlotDef::optional}},
       .attrs = limits,
       .infer = infer_grad_same,
       .bind = bind_clip_grad,
       .inplace = {{"Out@GRAD", "X@GRAD"}}},
      {.type = "clip_by_norm",
       .in = {{"X"}},
       .out = {{"Out"}},
       .attrs = {{"max_norm", 0.0f}},
       .infer = infer_clip_by_norm,
       .bind = bind_clip_by_norm,
       .grad = {"clip_by_norm_grad", {"X", "Out@GRAD"}, {"X@GRAD"}},
       .required_attrs = {"max_norm"}},
      {.type = "clip_by_norm_grad",
       .in = {{"X"}, {"Out@GRAD"}},
       .out = {{"X@GRAD", SlotDef::optional}},
       .attrs = {{"max_norm", 0.0f}},
       .infer = infer_grad_same,
       .bind = bind_clip_by_norm_grad,
       .inplace = {{"Out@GRAD", "X@GRAD"}}},
  };
}

}  // namespace paddle
