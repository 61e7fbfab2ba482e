// batch_norm: every channel brought to mean 0 and variance 1 over the batch.
#include "kernels/batch_norm.h"

#include "ops/common.h"

namespace paddle {
namespace {

bool channels_last(const Attrs& attrs) { return attrs.get<std::string>("data_layout") == "NHWC"; }

void check_batch_norm(const Infer& i) {
  const Shape& x = i.shape("X");
  const auto layout = i.attr<std::string>("data_layout");
  i.check(layout == "NCHW" || layout == "NHWC" || layout == "AnyLayout",
          "the attribute 'data_layout' is '", layout, "'; it can be NCHW or NHWC");
  i.check(x.rank() >= 2 && x.rank() <= 5, "needs X of 2 to 5 dimensions, found ", i.describe("X"));
  const int64_t channels = x[channels_last(i.op().attrs) ? x.rank() - 1 : 1];
  for (const char* slot : {"Scale", "Bias", "Mean", "Variance", "SavedMean", "SavedVariance"}) {
    if (!i.has(slot)) continue;
    i.check(i.shape(slot).compatible({channels}), i.describe(slot),
            " must have one value for each channel of ", i.describe("X"), ", layout ", layout);
    i.check(i.dtype(slot) == i.dtype("X"), slot, " is ", name_of(i.dtype(slot)), " and X ",
            name_of(i.dtype("X")), ": they must be of one type");
  }
}

void infer_batch_norm(Infer& i) {
  check_batch_norm(i);
  i.out_like("Y", "X");
  for (const char* slot : {"MeanOut", "VarianceOut", "SavedMean", "SavedVariance"})
    i.out(slot, i.shape("Scale"), i.dtype("X"));
}

void infer_batch_norm_grad(Infer& i) {
  check_batch_norm(i);
  i.check_same("X", "Y@GRAD");
  i.check(!i.attr<bool>("fuse_with_relu"),
          "fuse_with_relu is for inference; train with a relu op instead");
  i.out_like("X@GRAD", "X");
  i.out("Scale@GRAD", i.shape("Scale"), i.dtype("X"));
  i.out("Bias@GRAD", i.shape("Scale"), i.dtype("X"));
}

struct NormOp {
  explicit NormOp(const Bind& b)
      : x(b.in("X")),
        scale(b.in("Scale")),
        bias(b.in("Bias")),
        mean(b.in("Mean")),
        variance(b.in("Variance")),
        y(b.out("Y")),
        mean_out(b.out("MeanOut")),
        variance_out(b.out("VarianceOut")),
        saved_mean(b.out("SavedMean")),
        saved_variance(b.out("SavedVariance")),
        momentum(b.attr<float>("momentum")),
        epsilon(b.attr<float>("epsilon")),
        global(b.attr<bool>("is_test") || b.attr<bool>("use_global_stats")),
        relu(b.attr<bool>("fuse_with_relu")),
        last(channels_last(b.op().attrs)) {}

  template <class T>
  void run(const Run& r) const;

  Arg x, scale, bias, mean, variance, y, mean_out, variance_out, saved_mean, saved_variance;
  float momentum, epsilon;
  bool global, relu, last;
};

template <class T>
T* data_or_null(const Run& r, Arg a) {
  return a ? r[a].as<T>() : nullptr;
}

template <class T>
void NormOp::run(const Run& r) const {
  batch_norm(r, r.scratch, Planes(r[x].shape, last),
             BatchNorm<T>{.x = r[x].as<const T>(),
                          .scale = r[scale].as<const T>(),
                          .bias = r[bias].as<const T>(),
                          .mean = r[mean].as<const T>(),
                          .variance = r[variance].as<const T>(),
                          .y = r[y].as<T>(),
                          .mean_out = data_or_null<T>(r, mean_out),
                          .variance_out = data_or_null<T>(r, variance_out),
                          .saved_mean = data_or_null<T>(r, saved_mean),
                          .saved_inverse = data_or_null<T>(r, saved_variance),
                          .momentum = momentum,
                          .epsilon = epsilon,
                          .global = global,
                          .relu = relu});
}

Kernel bind_batch_norm(const Bind& b) {
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    return [op = NormOp(b)](const Run& r) { op.run<decltype(t)>(r); };
  });
}

Kernel bind_batch_norm_grad(const Bind& b) {
  const Arg x = b.in("X"), scale = b.in("Scale"), mean = b.in("SavedMean"),
            inverse = b.in("SavedVariance"), dy = b.in("Y@GRAD"), dx = b.out("X@GRAD"),
            dscale = b.out("Scale@GRAD"), dbias = b.out("Bias@GRAD");
  const bool global = b.attr<bool>("is_test") || b.attr<bool>("use_global_stats");
  const bool last = channels_last(b.op().attrs);
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      batch_norm_grad(r, r.scratch, Planes(r[x].shape, last),
                      BatchNormGrad<T>{.x = r[x].as<const T>(),
                                       .dy = r[dy].as<const T>(),
                                       .scale = r[scale].as<const T>(),
                                       .saved_mean = r[mean].as<const T>(),
                                       .saved_inverse = r[inverse].as<const T>(),
                                       .dx = data_or_null<T>(r, dx),
                                       .dscale = data_or_null<T>(r, dscale),
                                       .dbias = data_or_null<T>(r, dbias),
                                       .global = global});
    };
  });
}

void add_batch_norm(std::vector<OpDef>& defs) {
  const Attrs attrs{{"momentum", 0.9f},      {"epsilon", 1e-5f},
                    {"is_test", false},      {"use_global_stats", false},
                    {"data_layout", "NCHW"}, {"fuse_with_relu", false},
                    {"use_mkldnn", false},   {"trainable_statistics", false}};
  defs.push_back({.type = "batch_norm",
                  .in = {{"X"}, {"Scale"}, {"Bias"}, {"Mean"}, {"Variance"}},
                  .out = {{"Y"},
                          {"MeanOut", SlotDef::optional},
                          {"VarianceOut", SlotDef::optional},
                          {"SavedMean", SlotDef::intermediate},
                          {"SavedVariance", SlotDef::intermediate}},
                  .attrs = attrs,
                  .infer = infer_batch_norm,
                  .bind = bind_batch_norm,
                  .grad = {"batch_norm_grad",
                           {"X", "Scale", "Bias", "SavedMean", "SavedVariance", "Y@GRAD"},
                           {"X@GRAD", "Scale@GRAD", "Bias@GRAD"}}});
  defs.push_back({.type = "batch_norm_grad",
                  .in = {{"X"},
                         {"Scale"},
                         {"Bias", SlotDef::optional},  // PaddlePaddle reads its shape
                         {"SavedMean"},
                         {"SavedVariance"},
                         {"Y@GRAD"}},
                  .out = {{"X@GRAD", SlotDef::optional},
                          {"Scale@GRAD", SlotDef::optional},
                          {"Bias@GRAD", SlotDef::optional}},
                  .attrs = attrs,
                  .infer = infer_batch_norm_grad,
                  .bind = bind_batch_norm_grad,
                  .shape_only = {"Bias"}});
}

}  // namespace

std::vector<OpDef> batch_norm_ops() {
  std::vector<OpDef> defs;
  add_batch_norm(defs);
  return defs;
}

}  // namespace paddle
