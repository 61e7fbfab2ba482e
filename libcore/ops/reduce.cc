// reduce_sum, reduce_mean, reduce_max, reduce_min, reduce_prod: over some dimensions or all.
#include "kernels/map.h"
#include "kernels/memory.h"
#include "kernels/reducing.h"
#include "kernels/strided.h"
#include "ops/common.h"

namespace paddle {
namespace {

using reducing::Max;
using reducing::Min;
using reducing::Product;
using reducing::Sum;

// Which dimensions of X go away.
struct Mask {
  bool at[Shape::max_rank] = {};
  bool all = true;
};

// Attributes as kernels keep them.
struct Dims {
  Ints dim;
  bool all;

  explicit Dims(const Attrs& attrs)
      : dim(attrs.get<Ints>("dim")), all(attrs.get<bool>("reduce_all") || dim.empty()) {}
  Mask mask(int rank) const {
    Mask m;
    for (const int d : dim)
      if (d >= -rank && d < rank) m.at[d < 0 ? d + rank : d] = true;
    for (int d = 0; d < rank; ++d) {
      m.at[d] |= all;
      m.all &= m.at[d];
    }
    return m;
  }
};

void infer_reduce(Infer& i) {
  const Shape& x = i.shape("X");
  const Dims dims(i.op().attrs);
  if (!dims.all)
    for (const int d : dims.dim) resolve_axis(i, d, x.rank());
  const Mask m = dims.mask(x.rank());
  const bool keep = i.attr<bool>("keep_dim");
  Shape out;
  for (int d = 0; d < x.rank(); ++d) {
    if (!m.at[d])
      out.append(x[d]);
    else if (keep)
      out.append(1);
  }
  if (out.rank() == 0) out.append(1);
  i.out("Out", out, i.dtype("X"));
  if (x.rank() > 0 && !m.at[0]) i.share_lod("X", "Out");
}

Reduction reduction(const Shape& x, const Mask& m) {
  Reduction r;
  for (int d = 0; d < x.rank(); ++d) r.add(x[d], m.at[d]);
  return r;
}

// Kernels exist for numbers, not for bool and bytes.
template <class F>
Kernel with_number(const Bind& b, const F& f) {
  const DType t = b.dtype("X");
  if (t == DType::f32 || t == DType::f64) return with_float(t, f);
  require(t == DType::i32 || t == DType::i64, Error::Kind::config, "op ", b.op().type,
          ": X must be float32, float64, int32 or int64, found ", name_of(t));
  return with_int(t, f);
}

// `divide` makes means of sums; `needs_one`: there is no result of nothing.
using Divide = void (*)(const Device& d, int64_t n, int64_t by, void* out);

Kernel reduce_kernel(const Bind& b, const reducing::Loops& loops, bool needs_one, Divide divide) {
  const Arg x = b.in("X"), out = b.out("Out");
  return [=, &loops, dims = Dims(b.op().attrs)](const Run& r) {
    const Reduction red = reduction(r[x].shape, dims.mask(r[x].shape.rank()));
    require(!needs_one || red.reduced() > 0 || red.kept() == 0, Error::Kind::data,
            "X has no elements to reduce: its shape is ", r[x].shape, "; leave empty batches out");
    red.run(r, r.scratch, loops, r[x].data, r[out].data);
    if (divide != nullptr) divide(r, red.kept(), red.reduced(), r[out].data);
  };
}

template <class T>
struct Over {
  T count;
  PS_HD T operator()(T x) const { return x / count; }
};
template <class T>
void divide_all(const Device& d, int64_t n, int64_t by, void* out) {
  T* y = static_cast<T*>(out);
  map(d, n, Over<T>{static_cast<T>(by)}, y, static_cast<const T*>(y));
}

template <class Op, bool mean = false>
Kernel bind_reduce(const Bind& b) {
  constexpr bool needs_one = mean || std::is_same_v<Op, Max> || std::is_same_v<Op, Min>;
  return with_number(b, [&](auto t) -> Kernel {
    using T = decltype(t);
    return reduce_kernel(b, reducing::loops_of<Op, T>, needs_one, mean ? divide_all<T> : nullptr);
  });
}

// X in order beside the result that each element went into.
Strided beside(const Shape& x, const Mask& m) {
  int64_t to[Shape::max_rank], n = 1;
  for (int d = x.rank() - 1; d >= 0; --d) {
    to[d] = m.at[d] ? 0 : n;
    if (!m.at[d]) n *= x[d];
  }
  const Strides from(x);
  Strided nest;
  for (int d = 0; d < x.rank(); ++d) nest.add(x[d], from[d], to[d]);
  return nest;
}

template <class T>
struct Spread {
  const T* dy;
  T scale;
  T* dx;
  PS_HD void operator()(int64_t x, int64_t out) const { dx[x] = dy[out] * scale; }
};

template <bool mean>
Kernel bind_spread(const Bind& b) {
  const Arg x = b.in("X"), dy = b.in("Out@GRAD"), dx = b.out("X@GRAD");
  const Dims dims(b.op().attrs);
  return with_float(b.dtype("Out@GRAD"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const Shape& shape = r[x].shape;
      const Mask m = dims.mask(shape.rank());
      const T scale = mean ? T(1) / static_cast<T>(reduction(shape, m).reduced()) : T(1);
      const T* from = r[dy].as<const T>();
      T* to = r[dx].as<T>();
      strided_each(r, beside(shape, m), Spread<T>{from, scale, to});
    };
  });
}

// Every element equal to the extreme gets the gradient, as in Fluid.
template <class T>
struct ExtremeGrad {
  const T *x, *extreme, *dy;
  T* dx;
  PS_HD void operator()(int64_t at, int64_t out) const {
    dx[at] = x[at] == extreme[out] ? dy[out] : T(0);
  }
};

Kernel bind_extreme_grad(const Bind& b) {
  const Arg x = b.in("X"), out = b.in("Out"), dy = b.in("Out@GRAD"), dx = b.out("X@GRAD");
  const Dims dims(b.op().attrs);
  return with_float(b.dtype("Out@GRAD"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const Shape& shape = r[x].shape;
      const T *v = r[x].as<const T>(), *y = r[out].as<const T>(), *g = r[dy].as<const T>();
      T* to = r[dx].as<T>();
      strided_each(r, beside(shape, dims.mask(shape.rank())), ExtremeGrad<T>{v, y, g, to});
    };
  });
}

struct ZeroAsOne {
  template <class T>
  PS_HD T operator()(T x) const {
    return x == 0 ? T(1) : x;
  }
};
struct IsZero {
  template <class T>
  PS_HD T operator()(T x) const {
    return x == 0 ? T(1) : T(0);
  }
};

// dX = dOut * (product of the other factors): Out / x, but where a factor is zero that one must be
// left out of the product instead of divided out.
template <class T>
struct ProductGrad {
  const T *x, *out, *dy;
  const T *others, *zeros;  // of each result: the product without zeros, and how many there are
  T* dx;
  PS_HD void operator()(int64_t at, int64_t k) const {
    T rest = out[k] / x[at];
    if (zeros != nullptr && zeros[k] > 0) rest = zeros[k] == 1 && x[at] == 0 ? others[k] : T(0);
    dx[at] = dy[k] * rest;
  }
};

template <class T>
void product_grad(const Run& r, const Shape& shape, const Mask& m, const T* x, const T* out,
                  const T* dy, T* dx) {
  const Reduction red = reduction(shape, m);
  const int64_t n = shape.numel(), kept = red.kept();
  T *others = nullptr, *zeros = nullptr;
  Scratch memory = r.scratch.another();  // the plan's is used by the reductions below
  if (find_value(r, kept, out, T(0)) >= 0) {
    T* changed = memory.get<T>(n + 2 * kept);
    others = changed + n;
    zeros = others + kept;
    map(r, n, ZeroAsOne{}, changed, x);
    red.run<Product>(r, r.scratch, changed, others);
    map(r, n, IsZero{}, changed, x);
    red.run<Sum>(r, r.scratch, changed, zeros);
  }
  strided_each(r, beside(shape, m), ProductGrad<T>{x, out, dy, others, zeros, dx});
}

Kernel bind_product_grad(const Bind& b) {
  const Arg x = b.in("X"), out = b.in("Out"), dy = b.in("Out@GRAD"), dx = b.out("X@GRAD");
  const Dims dims(b.op().attrs);
  return with_float(b.dtype("Out@GRAD"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const Shape& shape = r[x].shape;
      product_grad(r, shape, dims.mask(shape.rank()), r[x].as<const T>(), r[out].as<const T>(),
                   r[dy].as<const T>(), r[dx].as<T>());
    };
  });
}

using BindFn = Kernel (*)(const Bind&);

// `by_shape`: the gradient reads no value of X or Out.
void add(std::vector<OpDef>& defs, const std::string& type, BindFn forward, BindFn backward,
         bool by_shape) {
  const Attrs attrs = {{"dim", Ints{0}}, {"keep_dim", false}, {"reduce_all", false}};
  const std::vector<std::string> kept = by_shape ? std::vector<std::string>{"X", "Out@GRAD"}
                                                 : std::vector<std::string>{"X", "Out", "Out@GRAD"};
  OpDef grad{.type = type + "_grad",
             .out = {{"X@GRAD", SlotDef::optional}},
             .attrs = attrs,
             .infer = infer_grad_same,
             .bind = backward};
  for (const std::string& slot : kept) grad.in.push_back({slot});
  if (by_shape) grad.shape_only = {"X"};
  defs.push_back({.type = type,
                  .in = {{"X"}},
                  .out = {{"Out"}},
                  .attrs = attrs,
                  .infer = infer_reduce,
                  .bind = forward,
                  .grad = {type + "_grad", kept, {"X@GRAD"}}});
  defs.push_back(std::move(grad));
}

}  // namespace

std::vector<OpDef> reduce_ops() {
  std::vector<OpDef> defs;
  add(defs, "reduce_sum", bind_reduce<Sum>, bind_spread<false>, true);
  add(defs, "reduce_mean", bind_reduce<Sum, true>, bind_spread<true>, true);
  add(defs, "reduce_max", bind_reduce<Max>, bind_extreme_grad, false);
  add(defs, "reduce_min", bind_reduce<Min>, bind_extreme_grad, false);
  add(defs, "reduce_prod", bind_reduce<Product>, bind_product_grad, false);
  return defs;
}

}  // namespace paddle
