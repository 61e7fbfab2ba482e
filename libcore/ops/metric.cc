// Measures of a model that is being trained: accuracy and the area under a curve.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "ops/common.h"

namespace paddle {
namespace {

void infer_accuracy(Infer& i) {
  const Shape &out = i.shape("Out"), &indices = i.shape("Indices"), &label = i.shape("Label");
  i.check(indices.rank() == 2 && out.compatible(indices), i.tell("Out"), " and ", i.tell("Indices"),
          " must be the [N, k] results of one top_k");
  i.check(label.rank() >= 1 && Shape{label[0]}.compatible(Shape{indices[0]}) &&
              (label.rank() == 1 || (label.rank() == 2 && (label[1] == 1 || label[1] < 0))),
          "the shape of ", i.tell("Label"), " must be [N, 1] for ", i.tell("Indices"));
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
    const auto *found = r[indices].as<const int64_t>(), *want = r[label].as<const int64_t>();
    int32_t right = 0;
    for (int64_t row = 0; row < n; ++row)
      right +=
          std::find(found + row * k, found + (row + 1) * k, want[row]) != found + (row + 1) * k;
    if (accuracy)
      *r[accuracy].as<float>() = n == 0 ? 0.0f : static_cast<float>(right) / static_cast<float>(n);
    if (correct) *r[correct].as<int32_t>() = right;
    if (total) *r[total].as<int32_t>() = static_cast<int32_t>(n);
  };
}

// Counts of one batch per bin of the predicted probability, and the area under the curve that they
// make.
struct Histogram {
  int64_t bins;
  int64_t *positive, *negative;
};

int64_t rows_of_window(int32_t slide_steps) { return std::max(slide_steps, 1); }

void infer_auc(Infer& i) {
  const Shape &p = i.shape("Predict"), &label = i.shape("Label");
  const auto thresholds = i.attr<int32_t>("num_thresholds");
  const auto steps = i.attr<int32_t>("slide_steps");
  const auto curve = i.attr<std::string>("curve");
  i.check(curve == "ROC" || curve == "PR", "curve must be ROC or PR, found '", curve, "'");
  i.check(thresholds > 0, "num_thresholds must be above 0, found ", thresholds);
  i.check(steps >= 0, "slide_steps must not be below 0, found ", steps);
  i.check(p.rank() == 2 && p[1] <= 2 && p[1] != 0, i.tell("Predict"),
          " must be [N, 2], the probabilities of both classes, or [N, 1]");
  i.check(label.rank() >= 1 && Shape{label[0]}.compatible(Shape{p[0]}) &&
              (label.numel() < 0 || p[0] < 0 || label.numel() == p[0]),
          "the shape of ", i.tell("Label"), " must be [N, 1] for ", i.tell("Predict"));
  i.check(i.dtype("Label") == DType::i64, "Label must be int64, found ", name_of(i.dtype("Label")));
  const int64_t needed = rows_of_window(steps) * (int64_t{thresholds} + 1);
  for (const char* slot : {"StatPos", "StatNeg"}) {
    const int64_t n = i.shape(slot).numel();
    i.check(n < 0 || n == needed, i.tell(slot), " must hold ", needed, " counts: [",
            rows_of_window(steps), ", num_thresholds + 1 = ", thresholds + 1, "]");
    i.check(i.dtype(slot) == DType::i64, slot, " must be int64, found ", name_of(i.dtype(slot)));
    i.out_like(text(slot, "Out"), slot);
  }
  i.out("AUC", {1}, DType::f64);
}

template <class T>
void count_batch(const View& predict, const int64_t* label, const Histogram& h) {
  const int64_t n = predict.shape[0], width = predict.shape[1];
  const T* p = predict.as<const T>() + (width - 1);
  for (int64_t row = 0; row < n; ++row) {
    const T v = p[row * width];
    require(v >= 0 && v <= 1, Error::Kind::data, "op auc: Predict of row ", row, " is ", v,
            ", which is no probability: put a softmax or sigmoid before auc");
    const auto bin = static_cast<int64_t>(v * static_cast<T>(h.bins - 1));
    ++(label[row] != 0 ? h.positive : h.negative)[bin];
  }
}

// From the highest bin down, as the threshold falls: true positives over false positives.
double roc_area(const Histogram& h) {
  double area = 0, positive = 0, negative = 0;
  for (int64_t b = h.bins - 1; b >= 0; --b) {
    const auto up = static_cast<double>(h.positive[b]), right = static_cast<double>(h.negative[b]);
    area += right * (positive + positive + up) / 2;
    positive += up;
    negative += right;
  }
  return positive > 0 && negative > 0 ? area / positive / negative : 0;
}

// Precision over recall; before the first prediction the precision is that of the first bin.
double pr_area(const Histogram& h) {
  double area = 0, positive = 0, all = 0, precision = -1;
  for (int64_t b = h.bins - 1; b >= 0; --b) {
    const auto up = static_cast<double>(h.positive[b]);
    positive += up;
    all += up + static_cast<double>(h.negative[b]);
    if (all == 0) continue;
    const double now = positive / all;
    area += up * (precision < 0 ? now : (precision + now) / 2);
    precision = now;
  }
  return positive > 0 ? area / positive : 0;
}

// The oldest of the last `steps` batches makes room for a new one; `sum` gets them all.
void slide(int64_t* window, int64_t steps, int64_t bins, const int64_t* batch, int64_t* sum) {
  std::memmove(window, window + bins, static_cast<size_t>((steps - 1) * bins) * sizeof(int64_t));
  std::copy_n(batch, bins, window + (steps - 1) * bins);
  std::fill_n(sum, bins, 0);
  for (int64_t s = 0; s < steps; ++s)
    for (int64_t b = 0; b < bins; ++b) sum[b] += window[s * bins + b];
}

// The counts so far, as they leave the op: usually the memory that they came in.
int64_t* carried(const View& in, const View& out) {
  if (out.data != in.data) std::copy_n(in.as<const int64_t>(), in.numel(), out.as<int64_t>());
  return out.as<int64_t>();
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
      auto* memory = r.scratch.get<int64_t>(4 * bins);
      const Histogram batch{bins, memory, memory + bins};
      std::fill_n(memory, 2 * bins, 0);
      count_batch<T>(r[predict], r[label].as<const int64_t>(), batch);
      int64_t *positive = carried(r[pos], r[pos_out]), *negative = carried(r[neg], r[neg_out]);
      Histogram all{bins, positive, negative};
      if (steps == 0) {
        for (int64_t k = 0; k < bins; ++k) {
          positive[k] += batch.positive[k];
          negative[k] += batch.negative[k];
        }
      } else {
        all = {bins, memory + 2 * bins, memory + 3 * bins};
        slide(positive, steps, bins, batch.positive, all.positive);
        slide(negative, steps, bins, batch.negative, all.negative);
      }
      *r[auc].as<double>() = roc ? roc_area(all) : pr_area(all);
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
