// conv2d over NCHW images.
#include "kernels/conv.h"

#include "ops/common.h"

namespace paddle {
namespace {

// Attributes, without shapes.
struct ConvAttrs {
  explicit ConvAttrs(const Attrs& attrs)
      : strides(attrs.get<Ints>("strides")),
        paddings(attrs.get<Ints>("paddings")),
        dilations(attrs.get<Ints>("dilations")),
        groups(attrs.get<int32_t>("groups")) {}
  Ints strides, paddings, dilations;
  int64_t groups;
};

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
          ", found ", i.describe("Input"), " and ", i.describe("Filter"));
  i.check(w[0] > 0 && w[1] > 0 && w[2] > 0 && w[3] > 0, i.describe("Filter"), " has no elements");
  i.check(x[1] < 0 || x[1] == w[1] * a.groups, "the channels of ", i.describe("Input"),
          " must be those of ", i.describe("Filter"), " times groups (", a.groups, ")");
  i.check(w[0] % a.groups == 0, "the output channels of ", i.describe("Filter"),
          " cannot be split into ", a.groups, " groups");
  Shape out{x[0], w[0], 0, 0};
  for (int d = 0; d < 2; ++d) {
    const auto u = static_cast<size_t>(d);
    out[2 + d] = out_length(x[2 + d], w[2 + d], a.strides[u], a.paddings[u], a.dilations[u]);
    i.check(x[2 + d] < 0 || (out[2 + d] > 0 &&
                             x[2 + d] + 2 * a.paddings[u] >= a.dilations[u] * (w[2 + d] - 1) + 1),
            i.describe("Filter"), " is larger than ", i.describe("Input"), " with paddings ",
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
  i.check(out.compatible(i.shape("Output@GRAD")), "the gradient ", i.describe("Output@GRAD"),
          " must have the shape ", out, " of the output");
  i.out_like("Input@GRAD", "Input");
  i.out_like("Filter@GRAD", "Filter");
}

ConvSizes sizes(const ConvAttrs& a, const Shape& x, const Shape& w, const Shape& y) {
  return {.images = x[0],
          .groups = a.groups,
          .channels = w[1],
          .height = x[2],
          .width = x[3],
          .filters = w[0] / a.groups,
          .kernel_h = w[2],
          .kernel_w = w[3],
          .out_h = y[2],
          .out_w = y[3],
          .stride_h = a.strides[0],
          .stride_w = a.strides[1],
          .pad_h = a.paddings[0],
          .pad_w = a.paddings[1],
          .dilation_h = a.dilations[0],
          .dilation_w = a.dilations[1]};
}

Kernel bind_conv(const Bind& b) {
  const Arg x = b.in("Input"), w = b.in("Filter"), y = b.out("Output");
  const ConvAttrs attrs(b.op().attrs);
  return with_float(b.dtype("Input"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const ConvSizes g = sizes(attrs, r[x].shape, r[w].shape, r[y].shape);
      conv2d<T>(r, r.scratch, g, r[x].as<const T>(), r[w].as<const T>(), r[y].as<T>());
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
      const ConvSizes g = sizes(attrs, r[x].shape, r[w].shape, r[dy].shape);
      const T* from = r[dy].as<const T>();
      if (dw) conv2d_filter_grad<T>(r, r.scratch, g, r[x].as<const T>(), from, r[dw].as<T>());
      if (dx) conv2d_input_grad<T>(r, r.scratch, g, r[w].as<const T>(), from, r[dx].as<T>());
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
