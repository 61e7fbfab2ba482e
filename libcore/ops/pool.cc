// pool2d over NCHW images: the maximum or the mean of windows.
#include <algorithm>
#include <limits>

#include "kernels/simd.h"
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
        exclusive(attrs.get<bool>("exclusive")) {}
  Ints ksize, strides, paddings;
  std::string type;
  bool global, ceil, exclusive;
};

void check_attrs(const Infer& i, const PoolAttrs& a) {
  i.check(a.type == "max" || a.type == "avg", "the attribute 'pooling_type' is '", a.type,
          "'; it can be max or avg");
  i.check(!i.attr<bool>("adaptive"), "adaptive pooling is not available; give ksize and strides");
  if (a.global) return;
  const auto pair = [&](const char* name, const Ints& v, int least) {
    i.check(v.size() == 2 && v[0] >= least && v[1] >= least, "the attribute '", name,
            "' needs two numbers of at least ", least, ", found ", attr_text(v));
  };
  pair("ksize", a.ksize, 1);
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
  i.check(x.rank() == 4, "needs X [N, C, H, W], found ", i.tell("X"));
  Shape out{x[0], x[1], 1, 1};
  if (a.global) return out;
  for (int d = 0; d < 2; ++d) {
    const auto u = static_cast<size_t>(d);
    const int64_t room = x[2 + d] + 2 * a.paddings[u] - a.ksize[u];
    i.check(x[2 + d] < 0 || room >= 0, "a window of ksize ", attr_text(a.ksize), " is larger than ",
            i.tell("X"), " with paddings ", attr_text(a.paddings));
    out[2 + d] = x[2 + d] < 0 ? -1 : (room + (a.ceil ? a.strides[u] - 1 : 0)) / a.strides[u] + 1;
  }
  return out;
}

void infer_pool2d(Infer& i) { i.out("Out", pool_shape(i), i.dtype("X")); }

void infer_pool2d_grad(Infer& i) {
  const Shape out = pool_shape(i);
  i.check(out.compatible(i.shape("Out@GRAD")), "the gradient ", i.tell("Out@GRAD"),
          " must have the shape ", out, " of the output of ", i.tell("X"));
  i.out_like("X@GRAD", "X");
}

struct Windows {
  Windows(const PoolAttrs& a, const Shape& x, const Shape& y)
      : height(x[2]), width(x[3]), out_h(y[2]), out_w(y[3]), exclusive(a.exclusive) {
    kernel_h = a.global ? height : a.ksize[0];
    kernel_w = a.global ? width : a.ksize[1];
    if (a.global) return;
    stride_h = a.strides[0];
    stride_w = a.strides[1];
    pad_h = a.paddings[0];
    pad_w = a.paddings[1];
  }
  // 2x2 windows side by side, all inside: the case worth code of its own.
  bool halving() const {
    return kernel_h == 2 && kernel_w == 2 && stride_h == 2 && stride_w == 2 && pad_h == 0 &&
           pad_w == 0 && out_h * 2 <= height && out_w * 2 <= width;
  }

  int64_t height, width, out_h, out_w;
  int64_t kernel_h, kernel_w, stride_h = 1, stride_w = 1, pad_h = 0, pad_w = 0;
  bool exclusive;
};

// Rows [top, bottom) and columns [left, right) of the input under one output element, and by what
// a mean divides.
struct Window {
  Window(const Windows& g, int64_t oh, int64_t ow) {
    const int64_t h = oh * g.stride_h - g.pad_h, w = ow * g.stride_w - g.pad_w;
    // ceil_mode lets windows hang over; what lies beyond the padding counts for nothing.
    const int64_t h_end = std::min(h + g.kernel_h, g.height + g.pad_h);
    const int64_t w_end = std::min(w + g.kernel_w, g.width + g.pad_w);
    top = std::max<int64_t>(h, 0);
    left = std::max<int64_t>(w, 0);
    bottom = std::min(h_end, g.height);
    right = std::min(w_end, g.width);
    divisor = g.exclusive ? (bottom - top) * (right - left) : (h_end - h) * (w_end - w);
  }
  bool empty() const { return top >= bottom || left >= right; }

  int64_t top, bottom, left, right, divisor;
};

template <class T>
PS_INLINE T larger(T a, T b) {
  return a < b ? b : a;
}

template <bool is_max, class T>
PS_CLONES void halve(const Windows& g, const T* x, T* y) {
  for (int64_t oh = 0; oh < g.out_h; ++oh, y += g.out_w) {
    const T *a = x + 2 * oh * g.width, *b = a + g.width;
    for (int64_t k = 0; k < g.out_w; ++k) {
      if constexpr (is_max)
        y[k] = larger(larger(a[2 * k], a[2 * k + 1]), larger(b[2 * k], b[2 * k + 1]));
      else
        y[k] = (a[2 * k] + a[2 * k + 1] + b[2 * k] + b[2 * k + 1]) * T(0.25);
    }
  }
}

template <bool is_max, class T>
void pool_image(const Windows& g, const T* x, T* y) {
  if (g.halving()) return halve<is_max>(g, x, y);
  for (int64_t oh = 0; oh < g.out_h; ++oh)
    for (int64_t ow = 0; ow < g.out_w; ++ow, ++y) {
      const Window v(g, oh, ow);
      T value = is_max ? -std::numeric_limits<T>::infinity() : T(0);
      for (int64_t h = v.top; h < v.bottom; ++h)
        for (int64_t w = v.left; w < v.right; ++w) {
          const T e = x[h * g.width + w];
          value = is_max ? larger(value, e) : value + e;
        }
      // ceil_mode can put a last window on padding alone: that gives 0, not minus infinity.
      *y = v.empty() ? T(0) : is_max ? value : value / static_cast<T>(v.divisor);
    }
}

// Of 2x2 windows exactly the first maximum takes the gradient; without branches.
template <class T>
PS_CLONES void unhalve_max(const Windows& g, const T* x, const T* y, const T* dy, T* dx) {
  for (int64_t oh = 0; oh < g.out_h; ++oh, y += g.out_w, dy += g.out_w) {
    const int64_t row = 2 * oh * g.width;
    const T *a = x + row, *b = a + g.width;
    T *da = dx + row, *db = da + g.width;
    for (int64_t k = 0; k < g.out_w; ++k) {
      const T top = y[k], d = dy[k];
      const bool m0 = a[2 * k] == top, m1 = a[2 * k + 1] == top, m2 = b[2 * k] == top,
                 m3 = b[2 * k + 1] == top;
      da[2 * k] = m0 ? d : T(0);
      da[2 * k + 1] = (m1 & !m0) ? d : T(0);
      db[2 * k] = (m2 & !(m0 | m1)) ? d : T(0);
      db[2 * k + 1] = (m3 & !(m0 | m1 | m2)) ? d : T(0);
    }
  }
}

template <class T>
void route_max(const Windows& g, const Window& v, const T* x, T top, T d, T* dx) {
  for (int64_t h = v.top; h < v.bottom; ++h)
    for (int64_t w = v.left; w < v.right; ++w)
      if (x[h * g.width + w] == top) {
        dx[h * g.width + w] += d;
        return;
      }
}

template <bool is_max, class T>
void unpool_image(const Windows& g, const T* x, const T* y, const T* dy, T* dx) {
  std::fill_n(dx, g.height * g.width, T(0));
  if (is_max && g.halving()) return unhalve_max(g, x, y, dy, dx);
  for (int64_t oh = 0; oh < g.out_h; ++oh)
    for (int64_t ow = 0; ow < g.out_w; ++ow, ++y, ++dy) {
      const Window v(g, oh, ow);
      if constexpr (is_max) {
        route_max(g, v, x, *y, *dy, dx);
      } else {
        const T share = *dy / static_cast<T>(v.divisor);
        for (int64_t h = v.top; h < v.bottom; ++h)
          for (int64_t w = v.left; w < v.right; ++w) dx[h * g.width + w] += share;
      }
    }
}

// body(image of one channel) for all of them, split over the pool.
template <class Body>
void for_planes(const Run& r, const Shape& x, const Body& body) {
  const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, x[2] * x[3]));
  r.pool.parallel_for(x[0] * x[1], grain, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) body(k);
  });
}

Kernel bind_pool2d(const Bind& b) {
  const Arg x = b.in("X"), y = b.out("Out");
  const PoolAttrs attrs(b.op().attrs);
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=, is_max = attrs.type == "max"](const Run& r) {
      const Windows g(attrs, r[x].shape, r[y].shape);
      for_planes(r, r[x].shape, [&](int64_t k) {
        const T* from = r[x].as<const T>() + k * g.height * g.width;
        T* to = r[y].as<T>() + k * g.out_h * g.out_w;
        is_max ? pool_image<true>(g, from, to) : pool_image<false>(g, from, to);
      });
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
      const Windows g(attrs, r[x].shape, r[dy].shape);
      for_planes(r, r[x].shape, [&](int64_t k) {
        const int64_t in = k * g.height * g.width, out = k * g.out_h * g.out_w;
        const T *px = r[x].as<const T>() + in, *py = r[y].as<const T>() + out,
                *pdy = r[dy].as<const T>() + out;
        T* to = r[dx].as<T>() + in;
        is_max ? unpool_image<true>(g, px, py, pdy, to) : unpool_image<false>(g, px, py, pdy, to);
      });
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
