// nce: noise-contrastive estimation. Of each row's own classes and of classes drawn at random, the
// cost of telling them apart; the other classes cost no time. Which classes are drawn is a function
// of (seed, step, place), so neither threads nor a restart change it.
#include "base/random.h"
#include "kernels/each.h"
#include "kernels/map.h"
#include "kernels/math.h"
#include "kernels/memory.h"
#include "kernels/rows.h"
#include "ops/common.h"
#include "ops/pieces.h"

namespace paddle {
namespace {

// How negative classes are drawn: all alike, or class c as often as log((c + 2) / (c + 1)).
struct ClassSampler {
  int64_t classes;
  bool log_uniform;
  double log_range;  // log(classes + 1)

  ClassSampler(int64_t classes, bool log_uniform)
      : classes(classes),
        log_uniform(log_uniform),
        log_range(paddle::log(static_cast<double>(classes) + 1)) {}

  PS_HD int64_t draw(const RandomStream& random, uint64_t index) const {
    if (!log_uniform)
      return static_cast<int64_t>(random.below(index, static_cast<uint64_t>(classes)));
    const auto c = static_cast<int64_t>(paddle::exp(random.uniform_double(index) * log_range)) - 1;
    return c < classes ? c : classes - 1;
  }
  PS_HD double probability(int64_t c) const {
    if (!log_uniform) return 1 / static_cast<double>(classes);
    return paddle::log((static_cast<double>(c) + 2) / (static_cast<double>(c) + 1)) / log_range;
  }
};

// Fills the classes of each row: its labels, then those that are drawn (or given for all rows).
struct ChooseClasses {
  ClassSampler sampler;
  RandomStream random;
  int64_t own, drawn;
  const int64_t *label, *given;  // given: null = drawn
  int64_t* out;
  PS_HD void operator()(int64_t row) const {
    int64_t* to = out + row * (own + drawn);
    for (int64_t j = 0; j < own; ++j) to[j] = label[row * own + j];
    for (int64_t j = 0; j < drawn; ++j)
      to[own + j] = given ? given[j] : sampler.draw(random, static_cast<uint64_t>(row * drawn + j));
  }
};

template <class T>
struct NceRow {
  ClassSampler sampler;
  int64_t own, drawn, width;
  const T *x, *w, *bias, *weight;  // bias and weight may be null
  const int64_t* classes;
  T *logits, *cost;
  PS_HD void operator()(int64_t row) const {
    const int64_t n = own + drawn;
    T sum = 0;
    for (int64_t j = 0; j < n; ++j) {
      const int64_t c = classes[row * n + j];
      T z = bias ? bias[c] : T(0);
      for (int64_t k = 0; k < width; ++k) z += x[row * width + k] * w[c * width + k];
      const T o = paddle::sigmoid(z);
      const T noise = static_cast<T>(sampler.probability(c) * static_cast<double>(drawn));
      logits[row * n + j] = o;
      sum -= paddle::log((j < own ? o : noise) / (o + noise));
    }
    cost[row] = sum * (weight ? weight[row] : T(1));
  }
};

// The gradient of each logit.
template <class T>
struct NceSlope {
  ClassSampler sampler;
  int64_t own, drawn;
  const T *logits, *weight, *dcost;
  const int64_t* classes;
  T* slope;
  PS_HD void operator()(int64_t row) const {
    const int64_t n = own + drawn;
    const T scale = dcost[row] * (weight ? weight[row] : T(1));
    for (int64_t j = 0; j < n; ++j) {
      const T o = logits[row * n + j];
      const T noise =
          static_cast<T>(sampler.probability(classes[row * n + j]) * static_cast<double>(drawn));
      slope[row * n + j] =
          scale * (j < own ? noise / (o + noise) * (o - 1) : o * (1 - o) / (o + noise));
    }
  }
};

template <class T>
struct NceInputGrad {
  int64_t n, width;
  const T *slope, *w;
  const int64_t* classes;
  T* dx;
  PS_HD void operator()(int64_t row) const {
    T* to = dx + row * width;
    for (int64_t k = 0; k < width; ++k) to[k] = 0;
    for (int64_t j = 0; j < n; ++j) {
      const T* from = w + classes[row * n + j] * width;
      for (int64_t k = 0; k < width; ++k) to[k] += slope[row * n + j] * from[k];
    }
  }
};

// A row of gradient for each class of each row.
template <class T>
struct NceWeightRows {
  int64_t n, width;
  const T *slope, *x;
  T* out;
  PS_HD void operator()(int64_t place) const {
    for (int64_t k = 0; k < width; ++k)
      out[place * width + k] = slope[place] * x[place / n * width + k];
  }
};

void check_nce(const Infer& i) {
  const Shape &x = i.shape("Input"), &w = i.shape("Weight");
  const auto classes = i.attr<int32_t>("num_total_classes");
  const auto sampler = i.attr<int32_t>("sampler");
  i.check(x.rank() == 2, i.describe("Input"), " must be [N, width]");
  i.check(classes > 0 && w.rank() == 2 && w.compatible(Shape{classes, x[1]}), i.describe("Weight"),
          " must be [", classes, " classes, width] for ", i.describe("Input"));
  i.check(i.dtype("Weight") == i.dtype("Input"), "Input and Weight must have one type");
  i.check(i.attr<int32_t>("num_neg_samples") > 0, "num_neg_samples must be at least 1");
  i.check(sampler == 0 || sampler == 1, "sampler must be 0 (uniform) or 1 (log_uniform), found ",
          sampler);
  const auto& given = i.attr<Ints>("custom_neg_classes");
  i.check(given.empty() || given.size() == static_cast<size_t>(i.attr<int32_t>("num_neg_samples")),
          "custom_neg_classes must have num_neg_samples entries");
  for (const int32_t c : given)
    i.check(c >= 0 && c < classes, "custom_neg_classes: ", c, " is no class of ", classes);
  if (i.has("Bias")) {
    i.check(i.shape("Bias").numel() < 0 || i.shape("Bias").numel() == classes, i.describe("Bias"),
            " must have ", classes, " elements");
    i.check(i.dtype("Bias") == i.dtype("Input"), "Input and Bias must have one type");
  }
  if (i.has("SampleWeight")) {
    const int64_t n = i.shape("SampleWeight").numel();
    i.check(n < 0 || x[0] < 0 || n == x[0], i.describe("SampleWeight"),
            " must have one number per row of ", i.describe("Input"));
    i.check(i.dtype("SampleWeight") == i.dtype("Input"),
            "Input and SampleWeight must have one type");
  }
}

void infer_nce(Infer& i) {
  check_nce(i);
  const Shape &x = i.shape("Input"), &label = i.shape("Label");
  i.check(label.rank() == 2 && label[1] != 0 && label.compatible(Shape{x[0], label[1]}),
          i.describe("Label"), " must be [N, classes of a row] for ", i.describe("Input"));
  i.check(i.dtype("Label") == DType::i64, "Label must be int64, found ", name_of(i.dtype("Label")));
  const int64_t n = label[1] < 0 ? -1 : label[1] + i.attr<int32_t>("num_neg_samples");
  i.out("Cost", {x[0], 1}, i.dtype("Input"));
  i.out("SampleLogits", {x[0], n}, i.dtype("Input"));
  i.out("SampleLabels", {x[0], n}, DType::i64);
}

void infer_nce_grad(Infer& i) {
  check_nce(i);
  const Shape &x = i.shape("Input"), &classes = i.shape("SampleLabels");
  i.check(classes.rank() == 2 && i.dtype("SampleLabels") == DType::i64 &&
              classes.compatible(Shape{x[0], classes[1]}) &&
              (classes[1] < 0 || classes[1] > i.attr<int32_t>("num_neg_samples")),
          i.describe("SampleLabels"), " must hold the classes of each row of ",
          i.describe("Input"));
  i.check_same("SampleLabels", "SampleLogits");
  i.check(i.dtype("SampleLogits") == i.dtype("Input") && i.dtype("Cost@GRAD") == i.dtype("Input"),
          "Input, SampleLogits and Cost@GRAD must have one type");
  const int64_t n = i.shape("Cost@GRAD").numel();
  i.check(n < 0 || x[0] < 0 || n == x[0], i.describe("Cost@GRAD"),
          " must have one number per row of ", i.describe("Input"));
  if (i.has_out("Input@GRAD")) i.out_like("Input@GRAD", "Input");
  if (i.has_out("Bias@GRAD")) {
    i.check(i.has("Bias"), "a gradient of Bias is asked for, and there is none");
    i.out_like("Bias@GRAD", "Bias");
  }
  if (!i.has_out("Weight@GRAD")) return;
  if (i.attr<bool>("is_sparse"))
    i.out_rows("Weight@GRAD", {classes.numel(), x[1]}, i.dtype("Input"), i.shape("Weight")[0]);
  else
    i.out_like("Weight@GRAD", "Weight");
}

const int64_t* checked_nce_classes(const Run& r, const View& v, int64_t classes) {
  const auto* ids = v.as<const int64_t>();
  const int64_t bad = first_bad_id(r, ids, v.numel(), classes);
  require(bad < 0, Error::Kind::data, "op nce: the class ", bad < 0 ? 0 : read_one(r, ids + bad),
          " at place ", bad, " is none of ", classes, " classes: correct the data");
  return ids;
}

ClassSampler sampler_of(const Bind& b) {
  return {b.attr<int32_t>("num_total_classes"), b.attr<int32_t>("sampler") == 1};
}

Kernel bind_nce(const Bind& b) {
  const Arg x = b.in("Input"), label = b.in("Label"), w = b.in("Weight"), bias = b.in("Bias"),
            weight = b.in("SampleWeight"), cost = b.out("Cost"), logits = b.out("SampleLogits"),
            chosen = b.out("SampleLabels");
  const ClassSampler sampler = sampler_of(b);
  const int64_t drawn = b.attr<int32_t>("num_neg_samples");
  const auto seed = static_cast<uint64_t>(b.attr<int32_t>("seed"));
  const auto& attr = b.attr<Ints>("custom_neg_classes");
  const Longs given(attr.begin(), attr.end());
  return with_float(b.dtype("Input"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const int64_t rows = r[x].shape[0], width = r[x].shape[1], own = r[label].shape[1];
      const int64_t n = own + drawn;
      Pieces memory(r, Pieces::bytes<int64_t>(rows * n) + Pieces::bytes<T>(rows * n) +
                           Pieces::bytes<int64_t>(drawn));
      auto* spare_classes = memory.take<int64_t>(rows * n);
      T* spare_logits = memory.take<T>(rows * n);
      auto* fixed = memory.take<int64_t>(drawn);
      int64_t* classes = chosen ? r[chosen].as<int64_t>() : spare_classes;
      T* o = logits ? r[logits].as<T>() : spare_logits;
      if (given.empty())
        fixed = nullptr;
      else
        write_all(r, drawn, given.data(), fixed);
      each(r, rows, n,
           ChooseClasses{sampler, RandomStream(seed != 0 ? seed : r.seed, r.step()), own, drawn,
                         checked_nce_classes(r, r[label], sampler.classes), fixed, classes});
      each(r, rows, n * width,
           NceRow<T>{sampler, own, drawn, width, r[x].as<const T>(), r[w].as<const T>(),
                     bias ? r[bias].as<const T>() : nullptr,
                     weight ? r[weight].as<const T>() : nullptr, classes, o, r[cost].as<T>()});
    };
  });
}

Kernel bind_nce_grad(const Bind& b) {
  const Arg x = b.in("Input"), w = b.in("Weight"), weight = b.in("SampleWeight"),
            logits = b.in("SampleLogits"), chosen = b.in("SampleLabels"), dcost = b.in("Cost@GRAD"),
            dx = b.out("Input@GRAD"), dw = b.out("Weight@GRAD"), db = b.out("Bias@GRAD");
  const ClassSampler sampler = sampler_of(b);
  const int64_t drawn = b.attr<int32_t>("num_neg_samples");
  const bool sparse = b.attr<bool>("is_sparse");
  return with_float(b.dtype("Input"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const int64_t rows = r[x].shape[0], width = r[x].shape[1], n = r[chosen].shape[1];
      const int64_t places = rows * n;
      const int64_t* classes = checked_nce_classes(r, r[chosen], sampler.classes);
      Pieces memory(r, Pieces::bytes<T>(places) + Pieces::bytes<T>(places * width));
      T *slope = memory.take<T>(places), *rows_of_w = memory.take<T>(places * width);
      each(r, rows, n,
           NceSlope<T>{sampler, n - drawn, drawn, r[logits].as<const T>(),
                       weight ? r[weight].as<const T>() : nullptr, r[dcost].as<const T>(), classes,
                       slope});
      if (dx)
        each(r, rows, n * width,
             NceInputGrad<T>{n, width, slope, r[w].as<const T>(), classes, r[dx].as<T>()});
      if (db) {
        fill(r, r[db].numel(), r[db].as<T>(), T(0));
        scatter_add_rows(r, classes, places, 1, T(1), slope, r[db].as<T>());
      }
      if (!dw) return;
      T* values = sparse ? r[dw].as<T>() : rows_of_w;
      each(r, places, width, NceWeightRows<T>{n, width, slope, r[x].as<const T>(), values});
      if (sparse) {
        r[dw].rows = classes;
        return;
      }
      fill(r, r[dw].numel(), r[dw].as<T>(), T(0));
      scatter_add_rows(r, classes, places, width, T(1), values, r[dw].as<T>());
    };
  });
}

}  // namespace

std::vector<OpDef> nce_ops() {
  const SlotDef bias{"Bias", SlotDef::optional}, weight{"SampleWeight", SlotDef::optional};
  const Attrs attrs{{"num_total_classes", 0},
                    {"num_neg_samples", 10},
                    {"sampler", 0},
                    {"seed", 0},
                    {"is_sparse", false},
                    {"is_test", false},
                    {"remote_prefetch", false},
                    {"custom_neg_classes", Ints{}},
                    {"trainer_id", 0},
                    {"epmap", Strings{}},
                    {"table_names", Strings{}},
                    {"height_sections", Longs{}}};
  return {
      {.type = "nce",
       .in = {{"Input"}, {"Label"}, {"Weight"}, bias, weight},
       .out = {{"Cost"},
               {"SampleLogits", SlotDef::intermediate},
               {"SampleLabels", SlotDef::intermediate}},
       .attrs = attrs,
       .infer = infer_nce,
       .bind = bind_nce,
       .grad = {"nce_grad",
                {"Input", "Weight", "Bias", "SampleWeight", "SampleLogits", "SampleLabels",
                 "Cost@GRAD"},
                {"Input@GRAD", "Weight@GRAD", "Bias@GRAD"}},
       .required_attrs = {"num_total_classes"}},
      {.type = "nce_grad",
       .in =
           {{"Input"}, {"Weight"}, bias, weight, {"SampleLogits"}, {"SampleLabels"}, {"Cost@GRAD"}},
       .out = {{"Input@GRAD", SlotDef::optional},
               {"Weight@GRAD", SlotDef::optional},
               {"Bias@GRAD", SlotDef::optional}},
       .attrs = attrs,
       .infer = infer_nce_grad,
       .bind = bind_nce_grad,
       .borrows = {{"SampleLabels", "Weight@GRAD"}},
       .shape_only = {"Bias"},
       .required_attrs = {"num_total_classes"}},
  };
}

}  // namespace paddle
