// Lengths and angles of vectors: norm (x divided by its length along an axis) and cos_sim.
#include <cmath>

#include "kernels/each.h"
#include "kernels/memory.h"
#include "kernels/strided.h"
#include "ops/common.h"

namespace paddle {
namespace {

// ---- norm: Out = X / Norm, Norm = sqrt(sum of X^2 along axis + epsilon)

template <class T>
struct NormColumn {
  Around a;
  T epsilon;
  const T* x;
  T *out, *norm;
  PS_HD void operator()(int64_t c) const {
    const int64_t first = a.first(c);
    T sum = 0;
    for (int64_t k = 0; k < a.n; ++k) sum += x[first + k * a.inner] * x[first + k * a.inner];
    const T length = std::sqrt(sum + epsilon);
    if (norm != nullptr) norm[c] = length;
    for (int64_t k = 0; k < a.n; ++k) out[first + k * a.inner] = x[first + k * a.inner] / length;
  }
};

// dX = dOut / Norm - X * (X . dOut) / Norm^3
template <class T>
struct NormColumnGrad {
  Around a;
  const T *x, *norm, *dout;
  T* dx;
  PS_HD void operator()(int64_t c) const {
    const int64_t first = a.first(c);
    T dot = 0;
    for (int64_t k = 0; k < a.n; ++k) dot += x[first + k * a.inner] * dout[first + k * a.inner];
    const T length = norm[c], back = dot / (length * length * length);
    for (int64_t k = 0; k < a.n; ++k) {
      const int64_t at = first + k * a.inner;
      dx[at] = dout[at] / length - x[at] * back;
    }
  }
};

void infer_norm(Infer& i) {
  const Shape& x = i.shape("X");
  const int axis = resolve_axis(i, i.attr<int32_t>("axis"), x.rank());
  i.out_like("Out", "X");
  Shape norm = x;
  norm[axis] = 1;
  i.out("Norm", norm, i.dtype("X"));
}

Kernel bind_norm(const Bind& b) {
  const Arg x = b.in("X"), out = b.out("Out"), norm = b.out("Norm");
  const auto axis = b.attr<int32_t>("axis");
  const auto epsilon = b.attr<float>("epsilon");
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const Around a(r[x].shape, axis);
      each(r, a.columns(), a.n,
           NormColumn<T>{a, T(epsilon), r[x].as<const T>(), r[out].as<T>(),
                         norm ? r[norm].as<T>() : nullptr});
    };
  });
}

Kernel bind_norm_grad(const Bind& b) {
  const Arg x = b.in("X"), norm = b.in("Norm"), dout = b.in("Out@GRAD"), dx = b.out("X@GRAD");
  if (!dx) return [](const Run&) {};
  const auto axis = b.attr<int32_t>("axis");
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const Around a(r[x].shape, axis);
      each(r, a.columns(), a.n,
           NormColumnGrad<T>{a, r[x].as<const T>(), r[norm].as<const T>(), r[dout].as<const T>(),
                             r[dx].as<T>()});
    };
  });
}

// ---- cos_sim: the cosine of the angle between rows of X and Y; Y may be one row for all

template <class T>
struct RowLength {
  int64_t width;
  const T* x;
  T* length;
  PS_HD void operator()(int64_t row) const {
    T sum = 0;
    for (int64_t k = 0; k < width; ++k) sum += x[row * width + k] * x[row * width + k];
    length[row] = std::sqrt(sum);
  }
};

template <class T>
struct Cosine {
  int64_t width, y_step;  // y_step: 1, or 0 where Y is one row
  const T *x, *y, *x_length, *y_length;
  T* out;
  PS_HD void operator()(int64_t row) const {
    const int64_t other = row * y_step;
    T dot = 0;
    for (int64_t k = 0; k < width; ++k) dot += x[row * width + k] * y[other * width + k];
    out[row] = dot / (x_length[row] * y_length[other]);
  }
};

// The gradient of one side u against the other side v: dout * (v / (|u| |v|) - cos * u / |u|^2).
template <class T>
struct CosineGrad {
  int64_t width, u_step, v_step;
  const T *u, *v, *u_length, *v_length, *out, *dout;
  T* du;  // one row per row of Out
  PS_HD void operator()(int64_t row) const {
    const int64_t a = row * u_step, c = row * v_step;
    const T by_v = dout[row] / (u_length[a] * v_length[c]);
    const T by_u = dout[row] * out[row] / (u_length[a] * u_length[a]);
    for (int64_t k = 0; k < width; ++k)
      du[row * width + k] = v[c * width + k] * by_v - u[a * width + k] * by_u;
  }
};

// One row for all collects the gradients of all rows: column k.
template <class T>
struct SumRows {
  int64_t rows, width;
  const T* parts;
  T* out;
  PS_HD void operator()(int64_t k) const {
    T sum = 0;
    for (int64_t r = 0; r < rows; ++r) sum += parts[r * width + k];
    out[k] = sum;
  }
};

void infer_cos_sim(Infer& i) {
  const Shape &x = i.shape("X"), &y = i.shape("Y");
  i.check(x.rank() >= 2 && x.rank() == y.rank(), i.describe("X"), " and ", i.describe("Y"),
          " must have as many dimensions, at least 2");
  i.check(i.dtype("X") == i.dtype("Y"), "X and Y must have one type, found ", name_of(i.dtype("X")),
          " and ", name_of(i.dtype("Y")));
  i.check(x.slice(1, x.rank()).compatible(y.slice(1, y.rank())), "the rows of ", i.describe("X"),
          " and ", i.describe("Y"), " must have the same shape");
  i.check(y[0] == 1 || y[0] < 0 || x[0] < 0 || y[0] == x[0], i.describe("Y"),
          " must have one row, or as many as ", i.describe("X"));
  i.out("Out", {x[0], 1}, i.dtype("X"));
  i.out("XNorm", {x[0], 1}, i.dtype("X"));
  i.out("YNorm", {y[0], 1}, i.dtype("X"));
  i.share_lod("X", "Out");
}

int64_t row_width(const Shape& s) { return s.product(1, s.rank()); }

Kernel bind_cos_sim(const Bind& b) {
  const Arg x = b.in("X"), y = b.in("Y"), out = b.out("Out"), x_norm = b.out("XNorm"),
            y_norm = b.out("YNorm");
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const int64_t rows = r[x].shape[0], other = r[y].shape[0], width = row_width(r[x].shape);
      T* own = r.scratch.get<T>(rows + other);  // where nobody wants the lengths
      T* x_length = x_norm ? r[x_norm].as<T>() : own;
      T* y_length = y_norm ? r[y_norm].as<T>() : own + rows;
      each(r, rows, width, RowLength<T>{width, r[x].as<const T>(), x_length});
      each(r, other, width, RowLength<T>{width, r[y].as<const T>(), y_length});
      each(r, rows, width,
           Cosine<T>{width, other == 1 ? 0 : 1, r[x].as<const T>(), r[y].as<const T>(), x_length,
                     y_length, r[out].as<T>()});
    };
  });
}

Kernel bind_cos_sim_grad(const Bind& b) {
  const Arg x = b.in("X"), y = b.in("Y"), x_norm = b.in("XNorm"), y_norm = b.in("YNorm"),
            out = b.in("Out"), dout = b.in("Out@GRAD"), dx = b.out("X@GRAD"), dy = b.out("Y@GRAD");
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const int64_t rows = r[x].shape[0], other = r[y].shape[0], width = row_width(r[x].shape);
      const int64_t step = other == 1 ? 0 : 1;
      CosineGrad<T> f{width,
                      1,
                      step,
                      r[x].as<const T>(),
                      r[y].as<const T>(),
                      r[x_norm].as<const T>(),
                      r[y_norm].as<const T>(),
                      r[out].as<const T>(),
                      r[dout].as<const T>(),
                      dx ? r[dx].as<T>() : nullptr};
      if (dx) each(r, rows, width, f);
      if (!dy) return;
      std::swap(f.u, f.v);
      std::swap(f.u_length, f.v_length);
      std::swap(f.u_step, f.v_step);
      f.du = step == 1 ? r[dy].as<T>() : r.scratch.get<T>(rows * width);
      each(r, rows, width, f);
      if (step == 0) each(r, width, rows, SumRows<T>{rows, width, f.du, r[dy].as<T>()});
    };
  });
}

}  // namespace

std::vector<OpDef> similarity_ops() {
  const Attrs norm_attrs{{"axis", -1}, {"epsilon", 1e-10f}};
  return {
      {.type = "norm",
       .in = {{"X"}},
       .out = {{"Out"}, {"Norm", SlotDef::intermediate}},
       .attrs = norm_attrs,
       .infer = infer_norm,
       .bind = bind_norm,
       .grad = {"norm_grad", {"X", "Norm", "Out@GRAD"}, {"X@GRAD"}}},
      {.type = "norm_grad",
       .in = {{"X"}, {"Norm"}, {"Out@GRAD"}},
       .out = {{"X@GRAD", SlotDef::optional}},
       .attrs = norm_attrs,
       .infer = infer_grad_same,
       .bind = bind_norm_grad},
      {.type = "cos_sim",
       .in = {{"X"}, {"Y"}},
       .out = {{"Out"}, {"XNorm", SlotDef::intermediate}, {"YNorm", SlotDef::intermediate}},
       .infer = infer_cos_sim,
       .bind = bind_cos_sim,
       .grad = {"cos_sim_grad",
                {"X", "Y", "Out", "XNorm", "YNorm", "Out@GRAD"},
                {"X@GRAD", "Y@GRAD"}}},
      {.type = "cos_sim_grad",
       .in = {{"X"}, {"Y"}, {"Out"}, {"XNorm"}, {"YNorm"}, {"Out@GRAD"}},
       .out = {{"X@GRAD", SlotDef::optional}, {"Y@GRAD", SlotDef::optional}},
       .infer = infer_grad_same,
       .bind = bind_cos_sim_grad},
  };
}

}  // namespace paddle
