// Matrix products: mul flattens its operands to matrices, matmul takes matrices, vectors and
// batches as they are.
#include "kernels/blas.h"
#include "kernels/memory.h"
#include "ops/common.h"

namespace paddle {
namespace {

// mul: X is [m, k] with its first x_num_col_dims dimensions in m, Y is [k, n].

struct Flat {
  int64_t m, k, n;
};

Flat flatten(const Shape& x, const Shape& y, int x_cols, int y_cols) {
  return {x.product(0, x_cols), x.product(x_cols, x.rank()), y.product(y_cols, y.rank())};
}

void check_mul(const Infer& i) {
  const Shape &x = i.shape("X"), &y = i.shape("Y");
  const auto x_cols = i.attr<int32_t>("x_num_col_dims"), y_cols = i.attr<int32_t>("y_num_col_dims");
  i.check(x_cols > 0 && x_cols < x.rank(), "x_num_col_dims is ", x_cols,
          " and must cut the dimensions of ", i.describe("X"), " in two");
  i.check(y_cols > 0 && y_cols < y.rank(), "y_num_col_dims is ", y_cols,
          " and must cut the dimensions of ", i.describe("Y"), " in two");
  const int64_t width = x.product(x_cols, x.rank()), height = y.product(0, y_cols);
  i.check(width == height || width < 0 || height < 0, "the rows of ", i.describe("X"), " have ",
          width, " elements and the columns of ", i.describe("Y"), " have ", height);
  i.check(i.dtype("X") == i.dtype("Y"), "X is ", name_of(i.dtype("X")), " and Y is ",
          name_of(i.dtype("Y")), ": cast one of them");
}

void infer_mul(Infer& i) {
  check_mul(i);
  Shape out = i.shape("X").slice(0, i.attr<int32_t>("x_num_col_dims"));
  const Shape& y = i.shape("Y");
  for (int d = i.attr<int32_t>("y_num_col_dims"); d < y.rank(); ++d) out.append(y[d]);
  i.out("Out", out, i.dtype("X"));
  i.share_lod("X", "Out");
}

void infer_mul_grad(Infer& i) {
  check_mul(i);
  infer_grad_same(i);
}

Kernel bind_mul(const Bind& b) {
  const Arg x = b.in("X"), y = b.in("Y"), out = b.out("Out");
  const auto x_cols = b.attr<int32_t>("x_num_col_dims"), y_cols = b.attr<int32_t>("y_num_col_dims");
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const Flat f = flatten(r[x].shape, r[y].shape, x_cols, y_cols);
      gemm(r, false, false, f.m, f.n, f.k, T(1), r[x].as<const T>(), f.k, r[y].as<const T>(), f.n,
           T(0), r[out].as<T>(), f.n);
    };
  });
}

Kernel bind_mul_grad(const Bind& b) {
  const Arg x = b.in("X"), y = b.in("Y"), d = b.in("Out@GRAD");
  const Arg dx = b.out("X@GRAD"), dy = b.out("Y@GRAD");
  const auto x_cols = b.attr<int32_t>("x_num_col_dims"), y_cols = b.attr<int32_t>("y_num_col_dims");
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const Flat f = flatten(r[x].shape, r[y].shape, x_cols, y_cols);
      const T* grad = r[d].as<const T>();
      if (dx)
        gemm(r, false, true, f.m, f.k, f.n, T(1), grad, f.n, r[y].as<const T>(), f.n, T(0),
             r[dx].as<T>(), f.k);
      if (dy)
        gemm(r, true, false, f.k, f.n, f.m, T(1), r[x].as<const T>(), f.k, grad, f.n, T(0),
             r[dy].as<T>(), f.n);
    };
  });
}

// matmul: each operand is a batch of stored matrices, or one matrix that serves the whole batch of
// the other.

struct Matrices {
  bool batched;
  int64_t batch, rows, cols;  // as stored
  bool trans;
  int64_t height() const { return trans ? cols : rows; }
  int64_t width() const { return trans ? rows : cols; }
  int64_t stride() const { return batched ? rows * cols : 0; }
};

// A vector is a row on the left and a column on the right.
Matrices matrices(const Shape& s, bool trans, bool left) {
  const int r = s.rank();
  if (r == 1) return {false, 1, left ? 1 : s[0], left ? s[0] : 1, trans};
  return {r > 2, s.product(0, r - 2), s[r - 2], s[r - 1], trans};
}

struct MatMul {
  Matrices x, y;
  int64_t batch() const { return x.batched ? x.batch : y.batch; }
  int64_t m() const { return x.height(); }
  int64_t n() const { return y.width(); }
};

MatMul product_of(const Shape& x, const Shape& y, bool trans_x, bool trans_y) {
  return {matrices(x, trans_x, true), matrices(y, trans_y, false)};
}

MatMul check_matmul(const Infer& i) {
  for (const char* slot : {"X", "Y"})
    i.check(i.shape(slot).rank() >= 1, i.describe(slot), " has no dimension");
  const MatMul p = product_of(i.shape("X"), i.shape("Y"), i.attr<bool>("transpose_X"),
                              i.attr<bool>("transpose_Y"));
  const auto equal = [](int64_t a, int64_t b) { return a == b || a < 0 || b < 0; };
  i.check(equal(p.x.width(), p.y.height()), "the left matrix of ", i.describe("X"),
          p.x.trans ? " (transposed)" : "", " is ", p.x.width(), " wide and the right one of ",
          i.describe("Y"), p.y.trans ? " (transposed)" : "", " is ", p.y.height(), " high");
  i.check(!p.x.batched || !p.y.batched || equal(p.x.batch, p.y.batch), "the batches of ",
          i.describe("X"), " and ", i.describe("Y"), " differ: ", p.x.batch, " and ", p.y.batch,
          " matrices");
  i.check(i.dtype("X") == i.dtype("Y"), "X is ", name_of(i.dtype("X")), " and Y is ",
          name_of(i.dtype("Y")), ": cast one of them");
  return p;
}

void infer_matmul(Infer& i) {
  const MatMul p = check_matmul(i);
  const Shape &x = i.shape("X"), &y = i.shape("Y");
  Shape out = x.rank() > 2   ? x.slice(0, x.rank() - 2)
              : y.rank() > 2 ? y.slice(0, y.rank() - 2)
                             : Shape{};
  // The side that a vector was made a matrix by goes away again.
  if (!(x.rank() == 1 && p.m() == 1)) out.append(p.m());
  if (!(y.rank() == 1 && p.n() == 1)) out.append(p.n());
  if (out.rank() == 0) out.append(1);
  i.out("Out", out, i.dtype("X"));
  i.share_lod("X", "Out");
}

void infer_matmul_grad(Infer& i) {
  check_matmul(i);
  infer_grad_same(i);
}

// c (+)= alpha * a * b for one pair of a batch. A stored matrix is turned where `trans` or else
// `flip` says so.
template <class T>
void multiply(const Run& r, const Matrices& a, bool flip_a, const T* pa, const Matrices& b,
              bool flip_b, const T* pb, T alpha, T beta, T* c) {
  const bool ta = a.trans != flip_a, tb = b.trans != flip_b;
  const int64_t m = ta ? a.cols : a.rows, k = ta ? a.rows : a.cols, n = tb ? b.rows : b.cols;
  gemm(r, ta, tb, m, n, k, alpha, pa, a.cols, pb, b.cols, beta, c, n);
}

// Many matrices by one are one tall matrix by it.
MatMul joined(MatMul p) {
  if (!p.x.batched || p.y.batched || p.x.trans) return p;
  p.x = {false, 1, p.x.batch * p.x.rows, p.x.cols, false};
  return p;
}

template <class T>
void matmul(const Run& r, const MatMul& p, T alpha, const T* x, const T* y, T* out) {
  for (int64_t i = 0, batch = p.batch(); i < batch; ++i)
    multiply(r, p.x, false, x + i * p.x.stride(), p.y, false, y + i * p.y.stride(), alpha, T(0),
             out + i * p.m() * p.n());
}

// d is [m, n]. Of the untransposed left operand the gradient is d * y^T, of a transposed one (as it
// is stored) y * d^T; likewise on the right. Where one matrix served a batch, its gradients add up.
template <class T>
void matmul_grad(const Run& r, const MatMul& p, T alpha, const T* x, const T* y, const T* d, T* dx,
                 T* dy) {
  const Matrices out{false, 1, p.m(), p.n(), false};
  const int64_t batch = p.batch();
  if (batch == 0) {
    if (dx != nullptr && !p.x.batched) fill(r, p.x.rows * p.x.cols, dx, T(0));
    if (dy != nullptr && !p.y.batched) fill(r, p.y.rows * p.y.cols, dy, T(0));
  }
  for (int64_t i = 0; i < batch; ++i) {
    const T* di = d + i * p.m() * p.n();
    const T *xi = x + i * p.x.stride(), *yi = y + i * p.y.stride();
    if (dx != nullptr) {
      const T beta = i > 0 && !p.x.batched ? T(1) : T(0);
      T* to = dx + i * p.x.stride();
      if (p.x.trans)
        multiply(r, p.y, false, yi, out, true, di, alpha, beta, to);
      else
        multiply(r, out, false, di, p.y, true, yi, alpha, beta, to);
    }
    if (dy != nullptr) {
      const T beta = i > 0 && !p.y.batched ? T(1) : T(0);
      T* to = dy + i * p.y.stride();
      if (p.y.trans)
        multiply(r, out, true, di, p.x, false, xi, alpha, beta, to);
      else
        multiply(r, p.x, true, xi, out, false, di, alpha, beta, to);
    }
  }
}

Kernel bind_matmul(const Bind& b) {
  const Arg x = b.in("X"), y = b.in("Y"), out = b.out("Out");
  const bool tx = b.attr<bool>("transpose_X"), ty = b.attr<bool>("transpose_Y");
  const auto alpha = b.attr<float>("alpha");
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      matmul<T>(r, joined(product_of(r[x].shape, r[y].shape, tx, ty)), alpha, r[x].as<const T>(),
                r[y].as<const T>(), r[out].as<T>());
    };
  });
}

Kernel bind_matmul_grad(const Bind& b) {
  const Arg x = b.in("X"), y = b.in("Y"), d = b.in("Out@GRAD");
  const Arg dx = b.out("X@GRAD"), dy = b.out("Y@GRAD");
  const bool tx = b.attr<bool>("transpose_X"), ty = b.attr<bool>("transpose_Y");
  const auto alpha = b.attr<float>("alpha");
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      matmul_grad<T>(r, joined(product_of(r[x].shape, r[y].shape, tx, ty)), alpha,
                     r[x].as<const T>(), r[y].as<const T>(), r[d].as<const T>(),
                     dx ? r[dx].as<T>() : nullptr, dy ? r[dy].as<T>() : nullptr);
    };
  });
}

void add(std::vector<OpDef>& defs, const std::string& type, const Attrs& attrs,
         void (*infer)(Infer&), Kernel (*bind)(const Bind&), void (*infer_grad)(Infer&),
         Kernel (*bind_grad)(const Bind&)) {
  defs.push_back({.type = type,
                  .in = {{"X"}, {"Y"}},
                  .out = {{"Out"}},
                  .attrs = attrs,
                  .infer = infer,
                  .bind = bind,
                  .grad = {type + "_grad", {"X", "Y", "Out@GRAD"}, {"X@GRAD", "Y@GRAD"}}});
  defs.push_back({.type = type + "_grad",
                  .in = {{"X"}, {"Y"}, {"Out@GRAD"}},
                  .out = {{"X@GRAD", SlotDef::optional}, {"Y@GRAD", SlotDef::optional}},
                  .attrs = attrs,
                  .infer = infer_grad,
                  .bind = bind_grad});
}

}  // namespace

std::vector<OpDef> matmul_ops() {
  std::vector<OpDef> defs;
  add(defs, "mul", {{"x_num_col_dims", 1}, {"y_num_col_dims", 1}}, infer_mul, bind_mul,
      infer_mul_grad, bind_mul_grad);
  add(defs, "matmul", {{"transpose_X", false}, {"transpose_Y", false}, {"alpha", 1.0f}},
      infer_matmul, bind_matmul, infer_matmul_grad, bind_matmul_grad);
  return defs;
}

}  // namespace paddle
