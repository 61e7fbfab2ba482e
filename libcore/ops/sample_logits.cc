// sample_logits: of the scores of many classes those of each row's own classes and of some classes
// that are drawn for the whole batch, corrected by how likely each was to be drawn: what a softmax
// over them estimates is the softmax over all. Which classes are drawn is a function of (seed,
// step).
#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "base/random.h"
#include "kernels/each.h"
#include "kernels/memory.h"
#include "kernels/rows.h"
#include "ops/common.h"
#include "ops/pieces.h"

namespace paddle {
namespace {

// Distinct classes, class c as often as log((c + 2) / (c + 1)), and how many draws that took.
struct DrawnClasses {
  Longs classes;
  int64_t tries = 0;
};

DrawnClasses draw_distinct(const RandomStream& random, int64_t classes, int64_t count) {
  DrawnClasses out;
  std::unordered_set<int64_t> seen;
  const double range = std::log(static_cast<double>(classes) + 1);
  while (static_cast<int64_t>(out.classes.size()) < count) {
    const double u = random.uniform_double(static_cast<uint64_t>(out.tries++));
    const int64_t c = std::min(static_cast<int64_t>(std::exp(u * range)) - 1, classes - 1);
    if (seen.insert(c).second) out.classes.push_back(c);
  }
  return out;
}

template <class T>
struct SampledRow {
  int64_t classes, own, drawn;
  double tries, log_range;
  bool remove_hits;
  const T* logits;
  const int64_t *label, *common;  // the classes of this batch
  int64_t *samples, *sampled_label;
  T *probability, *out;
  PS_HD void operator()(int64_t row) const {
    const int64_t n = own + drawn;
    for (int64_t j = 0; j < n; ++j) {
      const int64_t c = j < own ? label[row * own + j] : common[j - own];
      const double p =
          std::log((static_cast<double>(c) + 2) / (static_cast<double>(c) + 1)) / log_range;
      const double expected = -std::expm1(tries * std::log1p(-p));  // that it is drawn at all
      bool hit = false;
      for (int64_t k = 0; k < own && j >= own; ++k) hit = hit || label[row * own + k] == c;
      samples[row * n + j] = c;
      probability[row * n + j] = static_cast<T>(expected);
      const T score = logits[row * classes + c] - (hit && remove_hits ? T(1e20) : T(0));
      out[row * n + j] = score - static_cast<T>(std::log(expected));
    }
    for (int64_t j = 0; j < own; ++j) sampled_label[row * own + j] = j;
  }
};

template <class T>
struct SampledRowGrad {
  int64_t classes, n;
  const int64_t* samples;
  const T* dout;
  T* dlogits;
  PS_HD void operator()(int64_t row) const {
    for (int64_t c = 0; c < classes; ++c) dlogits[row * classes + c] = 0;
    for (int64_t j = 0; j < n; ++j)
      dlogits[row * classes + samples[row * n + j]] += dout[row * n + j];
  }
};

void infer_sample_logits(Infer& i) {
  const Shape &logits = i.shape("Logits"), &labels = i.shape("Labels");
  const int64_t drawn = i.attr<int32_t>("num_samples");
  i.check(logits.rank() == 2, i.describe("Logits"), " must be [N, classes]");
  i.check(drawn >= 1 && (logits[1] < 0 || drawn <= logits[1]), "num_samples must be from 1 to the ",
          "number of classes, found ", drawn, " for ", i.describe("Logits"));
  i.check(labels.rank() == 2 && labels[1] != 0 && labels.compatible(Shape{logits[0], labels[1]}) &&
              i.dtype("Labels") == DType::i64,
          i.describe("Labels"), " must be int64 [N, classes of a row] for ", i.describe("Logits"));
  i.check(!i.attr<bool>("use_customized_samples") && i.attr<bool>("uniq"),
          "samples of one's own, and samples that repeat, are not supported");
  const Shape out{logits[0], labels[1] < 0 ? -1 : labels[1] + drawn};
  i.out("Samples", out, DType::i64);
  i.out("Probabilities", out, i.dtype("Logits"));
  i.out("SampledLogits", out, i.dtype("Logits"));
  i.out("SampledLabels", labels, DType::i64);
}

void infer_sample_logits_grad(Infer& i) {
  const Shape &logits = i.shape("Logits"), &samples = i.shape("Samples");
  i.check(logits.rank() == 2 && samples.rank() == 2 && i.dtype("Samples") == DType::i64 &&
              samples.compatible(Shape{logits[0], samples[1]}),
          i.describe("Samples"), " must be int64 with a row for each of ", i.describe("Logits"));
  i.check_same("Samples", "SampledLogits@GRAD");
  i.check(i.dtype("SampledLogits@GRAD") == i.dtype("Logits"),
          "Logits and SampledLogits@GRAD must have one type");
  if (i.has_out("Logits@GRAD")) i.out_like("Logits@GRAD", "Logits");
}

const int64_t* checked_samples(const Run& r, const View& v, int64_t classes) {
  const auto* ids = v.as<const int64_t>();
  const int64_t bad = first_bad_id(r, ids, v.numel(), classes);
  require(bad < 0, Error::Kind::data, "op sample_logits: the class ",
          bad < 0 ? 0 : read_one(r, ids + bad), " at place ", bad, " is none of ", classes,
          " classes: correct the data");
  return ids;
}

Kernel bind_sample_logits(const Bind& b) {
  const Arg logits = b.in("Logits"), labels = b.in("Labels"), samples = b.out("Samples"),
            probabilities = b.out("Probabilities"), out = b.out("SampledLogits"),
            sampled_labels = b.out("SampledLabels");
  const int64_t drawn = b.attr<int32_t>("num_samples");
  const bool remove_hits = b.attr<bool>("remove_accidental_hits");
  const auto seed = static_cast<uint64_t>(b.attr<int32_t>("seed"));
  return with_float(b.dtype("Logits"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const int64_t rows = r[logits].shape[0], classes = r[logits].shape[1],
                    own = r[labels].shape[1], n = own + drawn;
      const DrawnClasses common =
          draw_distinct(RandomStream(seed != 0 ? seed : r.seed, r.step()), classes, drawn);
      Pieces memory(r, Pieces::bytes<int64_t>(drawn) + Pieces::bytes<int64_t>(rows * n) +
                           Pieces::bytes<T>(rows * n) + Pieces::bytes<int64_t>(rows * own));
      auto* shared = memory.take<int64_t>(drawn);
      write_all(r, drawn, common.classes.data(), shared);
      auto* spare_samples = memory.take<int64_t>(rows * n);
      T* spare_probabilities = memory.take<T>(rows * n);
      auto* spare_labels = memory.take<int64_t>(rows * own);
      each(r, rows, n,
           SampledRow<T>{classes, own, drawn, static_cast<double>(common.tries),
                         std::log(static_cast<double>(classes) + 1), remove_hits,
                         r[logits].as<const T>(), checked_samples(r, r[labels], classes), shared,
                         samples ? r[samples].as<int64_t>() : spare_samples,
                         sampled_labels ? r[sampled_labels].as<int64_t>() : spare_labels,
                         probabilities ? r[probabilities].as<T>() : spare_probabilities,
                         r[out].as<T>()});
    };
  });
}

Kernel bind_sample_logits_grad(const Bind& b) {
  const Arg samples = b.in("Samples"), dout = b.in("SampledLogits@GRAD"),
            dlogits = b.out("Logits@GRAD");
  if (!dlogits) return [](const Run&) {};
  return with_float(b.dtype("Logits"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const int64_t rows = r[dlogits].shape[0], classes = r[dlogits].shape[1],
                    n = r[samples].shape[1];
      each(r, rows, classes + n,
           SampledRowGrad<T>{classes, n, checked_samples(r, r[samples], classes),
                             r[dout].as<const T>(), r[dlogits].as<T>()});
    };
  });
}

}  // namespace

std::vector<OpDef> sample_logits_ops() {
  const Attrs attrs{{"use_customized_samples", false},
                    {"uniq", true},
                    {"remove_accidental_hits", true},
                    {"num_samples", 1},
                    {"seed", 0}};
  return {
      {.type = "sample_logits",
       .in = {{"Logits"}, {"Labels"}},
       .out = {{"Samples", SlotDef::intermediate},
               {"Probabilities", SlotDef::intermediate},
               {"SampledLogits"},
               {"SampledLabels"}},
       .attrs = attrs,
       .infer = infer_sample_logits,
       .bind = bind_sample_logits,
       .grad = {"sample_logits_grad",
                {"Logits", "Samples", "SampledLogits@GRAD"},
                {"Logits@GRAD"}}},
      {.type = "sample_logits_grad",
       .in = {{"Logits"}, {"Samples"}, {"SampledLogits@GRAD"}},
       .out = {{"Logits@GRAD", SlotDef::optional}},
       .attrs = attrs,
       .infer = infer_sample_logits_grad,
       .bind = bind_sample_logits_grad,
       .shape_only = {"Logits"}},
  };
}

}  // namespace paddle
