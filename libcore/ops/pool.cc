// pool2d over NCHW images: the maximum or the mean of windows.
#include "kernels/pool2d.h"
#include "ops/common.h"

namespace paddle {
namespace {

struct PoolAttrs {
  explicit PoolAttrs(const Attrs& attrs)
      : ksize(attrs.get<Ints>("ksize")),
        strides(attrs.get<Ints>("strides")),
        paddings(attrs.get<Ints>("paddings")),
        type(attrs.get<std::string>("pooling_type")),
        global(attrs.get<bool>("global_pooling")),
        ceil(attrs.get<bool>("ceil_mode")),
        exclusive(attrs.get<bool>("exclusive")),
        adaptive(attrs.get<bool>("adaptive")) {}
  Ints ksize, strides, paddings;
  std::string type;
  bool global, ceil, exclusive, adaptive;
};

void check_attrs(const Infer& i, const PoolAttrs& a) {
  i.check(a.type == "max" || a.type == "avg", "the attribute 'pooling_type' is '", a.type,
          "'; it can be max or avg");
  if (a.global) return;
  const auto pair = [&](const char* name, const Ints& v, int least) {
    i.check(v.size() == 2 && v[0] >= least && v[1] >= least, "the attribute '", name,
            "' needs two numbers of at least ", least, ", found ", attr_text(v));
  };
  pair("ksize", a.ksize, 1);
  if (a.adaptive) return;
  pair("strides", a.strides, 1);
  pair("paddings", a.paddings, 0);
  // A window all of padding has no maximum and no mean.
  i.check(a.paddings[0] < a.ksize[0] && a.paddings[1] < a.ksize[1], "paddings ",
          attr_text(a.paddings), " must be smaller than ksize ", attr_text(a.ksize));
}

Shape pool_shape(const Infer& i) {
  const PoolAttrs a(i.op().attrs);
  check_attrs(i, a);
  const Shape& x = i.shape("X");
  i.check(x.rank() == 4, "needs X [N, C, H, W], found ", i.describe("X"));
  Shape out{x[0], x[1], 1, 1};
  if (a.global) return out;
  if (a.adaptive) {  // ksize is the size of the result
    i.check(x[2] != 0 && x[3] != 0, i.describe("X"), " has no elements to divide into windows");
    return {x[0], x[1], a.ksize[0], a.ksize[1]};
  }
  for (int d = 0; d < 2; ++d) {
    const auto u = static_cast<size_t>(d);
    const int64_t places = x[2 + d] + 2 * a.paddings[u] - a.ksize[u];
    i.check(x[2 + d] < 0 || places >= 0, "a window of ksize ", attr_text(a.ksize),
            " is larger than ", i.describe("X"), " with paddings ", attr_text(a.paddings));
    out[2 + d] = x[2 + d] < 0 ? -1 : (places + (a.ceil ? a.strides[u] - 1 : 0)) / a.strides[u] + 1;
  }
  return out;
}

void infer_pool2d(Infer& i) { i.out("Out", pool_shape(i), i.dtype("X")); }

void infer_pool2d_grad(Infer& i) {
  const Shape out = pool_shape(i);
  i.check(out.compatible(i.shape("Out@GRAD")), "the gradient ", i.describe("Out@GRAD"),
          " must have the shape ", out, " of the output of ", i.describe("X"));
  i.out_like("X@GRAD", "X");
}

Windows windows(const PoolAttrs& a, const Shape& x, const Shape& y) {
  Windows g{.height = x[2], .width = x[3], .out_h = y[2], .out_w = y[3]};
  g.exclusive = a.exclusive;
  g.kernel_h = a.global ? g.height : a.ksize[0];
  g.kernel_w = a.global ? g.width : a.ksize[1];
  g.adaptive = a.adaptive && !a.global;
  if (a.global || a.adaptive) return g;
  g.stride_h = a.strides[0];
  g.stride_w = a.strides[1];
  g.pad_h = a.paddings[0];
  g.pad_w = a.paddings[1];
  return g;
}

Kernel bind_pool2d(const Bind& b) {
  const Arg x = b.in("X"), y = b.out("Out");
  const PoolAttrs attrs(b.op().attrs);
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=, is_max = attrs.type == "max"](const Run& r) {
      const Shape& s = r[x].shape;
      pool2d(r, windows(attrs, s, r[y].shape), is_max, s[0] * s[1], r[x].as<const T>(),
             r[y].as<T>());
    };
  });
}

Kernel bind_pool2d_grad(const Bind& b) {
  const Arg x = b.in("X"), y = b.in("Out"), dy = b.in("Out@GRAD"), dx = b.out("X@GRAD");
  if (!dx) return [](const Run&) {};
  const PoolAttrs attrs(b.op().attrs);
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=, is_max = attrs.type == "max"](const Run& r) {
      const Shape& s = r[x].shape;
      pool2d_grad(r, windows(attrs, s, r[dy].shape), is_max, s[0] * s[1], r[x].as<const T>(),
                  r[y].as<const T>(), r[dy].as<const T>(), r[dx].as<T>());
    };
  });
}

}  // namespace

std::vector<OpDef> pool_ops() {
  const Attrs attrs{
      {"pooling_type", "max"},  {"ksize", Ints{1, 1}},     {"strides", Ints{1, 1}},
      {"paddings", Ints{0, 0}}, {"global_pooling", false}, {"ceil_mode", false},
      {"exclusive", true},      {"adaptive", false},       {"use_cudnn", false},
      {"use_mkldnn", false},    {"use_quantizer", false},  {"data_format", "AnyLayout"},
      {"is_test", false}};
  return {
      {.type = "pool2d",
       .in = {{"X"}},
       .out = {{"Out"}},
       .attrs = attrs,
       .infer = infer_pool2d,
       .bind = bind_pool2d,
       .grad = {"pool2d_grad", {"X", "Out", "Out@GRAD"}, {"X@GRAD"}}},
      {.type = "pool2d_grad",
       .in = {{"X"}, {"Out"}, {"Out@GRAD"}},
       .out = {{"X@GRAD", SlotDef::optional}},
       .attrs = attrs,
       .infer = infer_pool2d_grad,
       .bind = bind_pool2d_grad},
  };
}

}  // namespace paddle
