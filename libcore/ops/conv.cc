// conv2d over NCHW images, as matrix products: patches of a few images at a time are laid out as
// columns ("im2col") in memory that stays in the cache, and one product serves them all.
#include <algorithm>
#include <cstring>

#include "kernels/blas.h"
#include "ops/common.h"
#include "ops/conv_columns.h"

namespace paddle {
namespace {

int64_t out_length(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation) {
  return in < 0 ? -1 : (in + 2 * padding - (dilation * (kernel - 1) + 1)) / stride + 1;
}

void check_attrs(const Infer& i, const ConvAttrs& a) {
  const auto pair = [&](const char* name, const Ints& v, int least) {
    i.check(v.size() == 2 && v[0] >= least && v[1] >= least, "the attribute '", name,
            "' needs two numbers of at least ", least, ", found ", attr_text(v));
  };
  pair("strides", a.strides, 1);
  pair("paddings", a.paddings, 0);
  pair("dilations", a.dilations, 1);
  i.check(a.groups >= 1, "the attribute 'groups' must be at least 1, found ", a.groups);
}

Shape conv_shape(const Infer& i) {
  const ConvAttrs a(i.op().attrs);
  check_attrs(i, a);
  const Shape &x = i.shape("Input"), &w = i.shape("Filter");
  i.check(x.rank() == 4 && w.rank() == 4, "needs Input [N, C, H, W] and Filter [O, C/groups, h, w]",
          ", found ", i.tell("Input"), " and ", i.tell("Filter"));
  i.check(w[0] > 0 && w[1] > 0 && w[2] > 0 && w[3] > 0, i.tell("Filter"), " has no elements");
  i.check(x[1] < 0 || x[1] == w[1] * a.groups, "the channels of ", i.tell("Input"),
          " must be those of ", i.tell("Filter"), " times groups (", a.groups, ")");
  i.check(w[0] % a.groups == 0, "the output channels of ", i.tell("Filter"),
          " cannot be split into ", a.groups, " groups");
  Shape out{x[0], w[0], 0, 0};
  for (int d = 0; d < 2; ++d) {
    const auto u = static_cast<size_t>(d);
    out[2 + d] = out_length(x[2 + d], w[2 + d], a.strides[u], a.paddings[u], a.dilations[u]);
    i.check(x[2 + d] < 0 || (out[2 + d] > 0 &&
                             x[2 + d] + 2 * a.paddings[u] >= a.dilations[u] * (w[2 + d] - 1) + 1),
            i.tell("Filter"), " is larger than ", i.tell("Input"), " with paddings ",
            attr_text(a.paddings));
  }
  return out;
}

void infer_conv(Infer& i) {
  i.check(i.dtype("Input") == i.dtype("Filter"), "Input is ", name_of(i.dtype("Input")),
          " and Filter ", name_of(i.dtype("Filter")), ": they must be of one type");
  i.out("Output", conv_shape(i), i.dtype("Input"));
}

void infer_conv_grad(Infer& i) {
  const Shape out = conv_shape(i);
  i.check(out.compatible(i.shape("Output@GRAD")), "the gradient ", i.tell("Output@GRAD"),
          " must have the shape ", out, " of the output");
  i.out_like("Input@GRAD", "Input");
  i.out_like("Filter@GRAD", "Filter");
}

// Images go through in chunks, and chunks belong to parts. Both depend on the shapes alone, so sums
// over parts do not depend on the number of threads.
struct Split {
  Split(const Geometry& g, size_t element, int64_t most_parts) {
    // Columns and outputs of a chunk together fill half of a usual second-level cache.
    const int64_t room = (int64_t{256} << 10) / static_cast<int64_t>(element);
    const int64_t each = (g.depth() + g.filters) * g.places();
    chunk =
        std::clamp<int64_t>(room / std::max<int64_t>(1, each), 1, std::max<int64_t>(1, g.images));
    chunks = (g.images + chunk - 1) / chunk;
    parts = std::clamp<int64_t>(chunks, 1, most_parts);
  }
  int64_t chunk, chunks, parts;
};

constexpr int64_t max_parts = 8;

// body(part, slot, first image, images) for each chunk; parts run at the same time, the chunks of
// one part in order. `slot` numbers scratch memory that no other running part uses.
template <class Body>
void for_chunks(ThreadPool& pool, const Geometry& g, const Split& s, const Body& body) {
  pool.parallel_for(s.parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part)
      for (int64_t c = part * s.chunks / s.parts; c < (part + 1) * s.chunks / s.parts; ++c)
        body(part, begin, c * s.chunk, std::min(s.chunk, g.images - c * s.chunk));
  });
}

// Where one running part may write: columns and joined outputs of a chunk.
template <class T>
struct Room {
  Room(T* base, const Geometry& g, const Split& s, int64_t slot)
      : columns(base + slot * size(g, s)), joined(columns + g.depth() * s.chunk * g.places()) {}
  static int64_t size(const Geometry& g, const Split& s) {
    return (g.depth() + g.filters) * s.chunk * g.places();
  }
  static int64_t slots(const ThreadPool& pool, const Split& s) {
    return pool.threads() == 1 ? 1 : s.parts;
  }
  T *columns, *joined;
};

template <class T>
void conv_forward(const Run& r, const Geometry& g, const T* x, const T* w, T* y) {
  const Split s(g, sizeof(T), max_parts);
  T* base = r.scratch.get<T>(Room<T>::slots(r.pool, s) * Room<T>::size(g, s));
  for_chunks(r.pool, g, s, [&](int64_t, int64_t slot, int64_t first, int64_t count) {
    ThreadPool single(1);
    ThreadPool& pool = s.parts == 1 ? r.pool : single;
    const Room<T> room(base, g, s, slot);
    const int64_t x_step = g.groups * g.in_size(), y_step = g.groups * g.out_size();
    const int64_t n = count * g.places();
    for (int64_t k = 0; k < g.groups; ++k) {
      const T* from = x + first * x_step + k * g.in_size();
      T* to = y + first * y_step + k * g.out_size();
      const T* columns = from;
      if (count > 1 || !g.pointwise()) {
        to_columns(g, from, x_step, count, room.columns, n);
        columns = room.columns;
      }
      T* product = count > 1 ? room.joined : to;
      gemm(pool, false, false, g.filters, n, g.depth(), T(1), w + k * g.filters * g.depth(),
           g.depth(), columns, n, T(0), product, n);
      if (count > 1) part_images(g, product, count, to, y_step);
    }
  });
}

template <class T>
void conv_input_grad(const Run& r, const Geometry& g, const T* w, const T* dy, T* dx) {
  const Split s(g, sizeof(T), max_parts);
  T* base = r.scratch.get<T>(Room<T>::slots(r.pool, s) * Room<T>::size(g, s));
  for_chunks(r.pool, g, s, [&](int64_t, int64_t slot, int64_t first, int64_t count) {
    ThreadPool single(1);
    ThreadPool& pool = s.parts == 1 ? r.pool : single;
    const Room<T> room(base, g, s, slot);
    const int64_t x_step = g.groups * g.in_size(), y_step = g.groups * g.out_size();
    const int64_t n = count * g.places();
    std::memset(dx + first * x_step, 0, static_cast<size_t>(count * x_step) * sizeof(T));
    for (int64_t k = 0; k < g.groups; ++k) {
      const T* from = dy + first * y_step + k * g.out_size();
      if (count > 1) {
        join_images(g, from, y_step, count, room.joined);
        from = room.joined;
      }
      gemm(pool, true, false, g.depth(), n, g.filters, T(1), w + k * g.filters * g.depth(),
           g.depth(), from, n, T(0), room.columns, n);
      from_columns(g, room.columns, n, count, dx + first * x_step + k * g.in_size(), x_step);
    }
  });
}

template <class T>
void conv_filter_grad(const Run& r, const Geometry& g, const T* x, const T* dy, T* dw) {
  const int64_t size = g.groups * g.filters * g.depth();
  // Each part has a sum of its own, so large filters get fewer parts.
  const Split s(g, sizeof(T), std::clamp<int64_t>((int64_t{1} << 20) / size, 1, max_parts));
  const int64_t slots = Room<T>::slots(r.pool, s);
  T* sums = r.scratch.get<T>(s.parts * size + slots * Room<T>::size(g, s));
  T* base = sums + s.parts * size;
  std::memset(sums, 0, static_cast<size_t>(s.parts * size) * sizeof(T));
  for_chunks(r.pool, g, s, [&](int64_t part, int64_t slot, int64_t first, int64_t count) {
    ThreadPool single(1);
    ThreadPool& pool = s.parts == 1 ? r.pool : single;
    const Room<T> room(base, g, s, slot);
    const int64_t x_step = g.groups * g.in_size(), y_step = g.groups * g.out_size();
    const int64_t n = count * g.places();
    for (int64_t k = 0; k < g.groups; ++k) {
      const T* from = dy + first * y_step + k * g.out_size();
      if (count > 1) {
        join_images(g, from, y_step, count, room.joined);
        from = room.joined;
      }
      to_columns(g, x + first * x_step + k * g.in_size(), x_step, count, room.columns, n);
      gemm(pool, false, true, g.filters, g.depth(), n, T(1), from, n, room.columns, n, T(1),
           sums + part * size + k * g.filters * g.depth(), g.depth());
    }
  });
  std::copy_n(sums, size, dw);
  for (int64_t part = 1; part < s.parts; ++part)
    for (int64_t k = 0; k < size; ++k) dw[k] += sums[part * size + k];
}

Kernel bind_conv(const Bind& b) {
  const Arg x = b.in("Input"), w = b.in("Filter"), y = b.out("Output");
  const ConvAttrs attrs(b.op().attrs);
  return with_float(b.dtype("Input"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const Geometry g(attrs, r[x].shape, r[w].shape, r[y].shape);
      conv_forward<T>(r, g, r[x].as<const T>(), r[w].as<const T>(), r[y].as<T>());
    };
  });
}

Kernel bind_conv_grad(const Bind& b) {
  const Arg x = b.in("Input"), w = b.in("Filter"), dy = b.in("Output@GRAD"),
            dx = b.out("Input@GRAD"), dw = b.out("Filter@GRAD");
  const ConvAttrs attrs(b.op().attrs);
  return with_float(b.dtype("Input"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const Geometry g(attrs, r[x].shape, r[w].shape, r[dy].shape);
      const T* from = r[dy].as<const T>();
      if (dw) conv_filter_grad<T>(r, g, r[x].as<const T>(), from, r[dw].as<T>());
      if (dx) conv_input_grad<T>(r, g, r[w].as<const T>(), from, r[dx].as<T>());
    };
  });
}

void add(std::vector<OpDef>& defs, const std::string& type) {
  const Attrs attrs{{"strides", Ints{1, 1}},      {"paddings", Ints{0, 0}},
                    {"dilations", Ints{1, 1}},    {"groups", 1},
                    {"use_cudnn", false},         {"use_mkldnn", false},
                    {"use_quantizer", false},     {"fuse_relu_before_depthwise_conv", false},
                    {"fuse_relu", false},         {"fuse_residual_connection", false},
                    {"data_format", "AnyLayout"}, {"workspace_size_MB", 4096},
                    {"exhaustive_search", false}, {"is_test", false}};
  defs.push_back(
      {.type = type,
       .in = {{"Input"}, {"Filter"}},
       .out = {{"Output"}},
       .attrs = attrs,
       .infer = infer_conv,
       .bind = bind_conv,
       .grad = {
           type + "_grad", {"Input", "Filter", "Output@GRAD"}, {"Input@GRAD", "Filter@GRAD"}}});
  defs.push_back({.type = type + "_grad",
                  .in = {{"Input"}, {"Filter"}, {"Output@GRAD"}},
                  .out = {{"Input@GRAD", SlotDef::optional}, {"Filter@GRAD", SlotDef::optional}},
                  .attrs = attrs,
                  .infer = infer_conv_grad,
                  .bind = bind_conv_grad});
}

}  // namespace

std::vector<OpDef> conv_ops() {
  std::vector<OpDef> defs;
  add(defs, "conv2d");
  add(defs, "depthwise_conv2d");
  return defs;
}

}  // namespace paddle
