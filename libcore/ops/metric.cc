// Measures of a model that is being trained: accuracy and the area under a curve.
#include "kernels/metric.h"

#include <algorithm>
#include <cmath>

#include "kernels/memory.h"
#include "ops/common.h"

namespace paddle {
namespace {

void infer_accuracy(Infer& i) {
  const Shape &out = i.shape("Out"), &indices = i.shape("Indices"), &label = i.shape("Label");
  i.check(indices.rank() == 2 && out.compatible(indices), i.describe("Out"), " and ",
          i.describe("Indices"), " must be the [N, k] results of one top_k");
  i.check(label.rank() >= 1 && Shape{label[0]}.compatible(Shape{indices[0]}) &&
              (label.rank() == 1 || (label.rank() == 2 && (label[1] == 1 || label[1] < 0))),
          "the shape of ", i.describe("Label"), " must be [N, 1] for ", i.describe("Indices"));
  for (const char* slot : {"Indices", "Label"})
    i.check(i.dtype(slot) == DType::i64, slot, " must be int64, found ", name_of(i.dtype(slot)));
  i.out("Accuracy", {1}, DType::f32);
  i.out("Correct", {1}, DType::i32);
  i.out("Total", {1}, DType::i32);
}

Kernel bind_accuracy(const Bind& b) {
  const Arg indices = b.in("Indices"), label = b.in("Label");
  const Arg accuracy = b.out("Accuracy"), correct = b.out("Correct"), total = b.out("Total");
  return [=](const Run& r) {
    const int64_t n = r[indices].shape[0], k = r[indices].shape[1];
    count_hits(r, r.scratch, n, k, r[indices].as<const int64_t>(), r[label].as<const int64_t>(),
               correct ? r[correct].as<int32_t>() : nullptr,
               accuracy ? r[accuracy].as<float>() : nullptr);
    if (total) fill(r, 1, r[total].as<int32_t>(), static_cast<int32_t>(n));
  };
}

int64_t rows_of_window(int32_t slide_steps) { return std::max(slide_steps, 1); }

void infer_auc(Infer& i) {
  const Shape &p = i.shape("Predict"), &label = i.shape("Label");
  const auto thresholds = i.attr<int32_t>("num_thresholds");
  const auto steps = i.attr<int32_t>("slide_steps");
  const auto curve = i.attr<std::string>("curve");
  i.check(curve == "ROC" || curve == "PR", "curve must be ROC or PR, found '", curve, "'");
  i.check(thresholds > 0, "num_thresholds must be above 0, found ", thresholds);
  i.check(steps >= 0, "slide_steps must not be below 0, found ", steps);
  i.check(p.rank() == 2 && p[1] <= 2 && p[1] != 0, i.describe("Predict"),
          " must be [N, 2], the probabilities of both classes, or [N, 1]");
  i.check(label.rank() >= 1 && Shape{label[0]}.compatible(Shape{p[0]}) &&
              (label.numel() < 0 || p[0] < 0 || label.numel() == p[0]),
          "the shape of ", i.describe("Label"), " must be [N, 1] for ", i.describe("Predict"));
  i.check(i.dtype("Label") == DType::i64, "Label must be int64, found ", name_of(i.dtype("Label")));
  const int64_t bins = int64_t{thresholds} + 1, needed = rows_of_window(steps) * bins;
  const int64_t ring = AucState::ring_size(bins, steps);
  for (const char* slot : {"StatPos", "StatNeg"}) {
    const int64_t n = i.shape(slot).numel();
    i.check(n < 0 || n == needed || (steps > 0 && n == ring), i.describe(slot), " must hold ",
            needed, " counts, [", rows_of_window(steps), ", num_thresholds + 1 = ", bins, "]",
            steps > 0 ? text(", or ", ring, ", (slide_steps + 1) * (num_thresholds + 1) + 1") : "");
    i.check(n < 0 || i.shape("StatPos").numel() < 0 || n == i.shape("StatPos").numel(),
            i.describe("StatPos"), " and ", i.describe("StatNeg"), " must have one shape");
    i.check(i.dtype(slot) == DType::i64, slot, " must be int64, found ", name_of(i.dtype(slot)));
    i.out_like(text(slot, "Out"), slot);
  }
  i.out("AUC", {1}, DType::f64);
}

Kernel bind_auc(const Bind& b) {
  const Arg predict = b.in("Predict"), label = b.in("Label"), auc = b.out("AUC");
  const Arg pos = b.in("StatPos"), neg = b.in("StatNeg");
  const Arg pos_out = b.out("StatPosOut"), neg_out = b.out("StatNegOut");
  const int64_t bins = int64_t{b.attr<int32_t>("num_thresholds")} + 1;
  const int64_t steps = b.attr<int32_t>("slide_steps");
  const bool roc = b.attr<std::string>("curve") == "ROC";
  return with_float(b.dtype("Predict"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const int64_t n = r[predict].shape[0], width = r[predict].shape[1];
      const T* p = r[predict].as<const T>() + (width - 1);
      const int64_t bad = first_improbable(r, n, width, p);
      if (bad >= 0 && !std::isfinite(read_one(r, p + bad * width)))
        throw Error(Error::Kind::numeric, "op auc: Predict of row ", bad, " is ",
                    read_one(r, p + bad * width),
                    ": the model has diverged before auc; lower the learning rate, clip gradients "
                    "or look at the data of this batch (check_nan_inf names the op)");
      require(bad < 0, Error::Kind::data, "op auc: Predict of row ", bad, " is ",
              bad < 0 ? T(0) : read_one(r, p + bad * width),
              ", which is no probability: put a softmax or sigmoid before auc");
      copy(r, r[pos].numel(), r[pos_out].as<int64_t>(), r[pos].as<const int64_t>());
      copy(r, r[neg].numel(), r[neg_out].as<int64_t>(), r[neg].as<const int64_t>());
      const bool ring = r[pos].numel() == AucState::ring_size(bins, steps);
      const AucState state{bins, steps, ring, r[pos_out].as<int64_t>(), r[neg_out].as<int64_t>()};
      count_predictions(r, r.scratch, n, width, p, r[label].as<const int64_t>(), state);
      curve_area(r, r.scratch, state, roc, r[auc].as<double>());
    };
  });
}

}  // namespace

std::vector<OpDef> metric_ops() {
  return {
      {.type = "accuracy",
       .in = {{"Out"}, {"Indices"}, {"Label"}},
       .out = {{"Accuracy"}, {"Correct"}, {"Total"}},
       .infer = infer_accuracy,
       .bind = bind_accuracy,
       .shape_only = {"Out"}},
      {.type = "auc",
       .in = {{"Predict"}, {"Label"}, {"StatPos"}, {"StatNeg"}},
       .out = {{"AUC"}, {"StatPosOut"}, {"StatNegOut"}},
       .attrs = {{"curve", std::string("ROC")}, {"num_thresholds", 4095}, {"slide_steps", 1}},
       .infer = infer_auc,
       .bind = bind_auc,
       .inplace = {{"StatPos", "StatPosOut"}, {"StatNeg", "StatNegOut"}}},
  };
}

}  // namespace paddle
