// hierarchical_sigmoid: classes are the leaves of a binary tree, and the cost of a class is that of
// the turns on the way to it: as many as log2(classes) instead of one score per class.
#include "kernels/each.h"
#include "kernels/math.h"
#include "kernels/memory.h"
#include "kernels/rows.h"
#include "ops/common.h"
#include "ops/pieces.h"

namespace paddle {
namespace {

// The tree of Fluid: class c of n is the leaf c + n of a heap. The way to it has the inner nodes
// (leaf >> (k + 1)) - 1, with the turn that bit k says.
struct TreeWay {
  uint64_t leaf;
  PS_HD TreeWay(int64_t label, int64_t classes) : leaf(static_cast<uint64_t>(label + classes)) {}
  PS_HD int64_t length() const { return 63 - __builtin_clzll(leaf); }
  PS_HD int64_t node(int64_t k) const { return static_cast<int64_t>(leaf >> (k + 1)) - 1; }
  PS_HD bool turn(int64_t k) const { return ((leaf >> k) & 1) != 0; }
};

// Turns of the longest way.
int64_t longest_way(int64_t classes) { return TreeWay(classes - 1, classes).length(); }

template <class T>
PS_HD T clipped(T z) {
  return z < -40 ? T(-40) : z > 40 ? T(40) : z;
}

// PreOut holds log(1 + e^z) of each turn, as Fluid's does. Fluid counts log(2) for the turns that a
// shorter way lacks, which changes no gradient.
template <class T>
struct HsigmoidRow {
  int64_t classes, width, turns;
  const T *x, *w, *bias;  // bias may be null
  const int64_t* label;
  T *pre, *out;
  PS_HD void operator()(int64_t row) const {
    const TreeWay way(label[row], classes);
    T sum = 0;
    for (int64_t k = 0; k < turns; ++k) {
      T z = 0;
      if (k < way.length()) {
        const int64_t node = way.node(k);
        z = bias ? bias[node] : T(0);
        for (int64_t d = 0; d < width; ++d) z += x[row * width + d] * w[node * width + d];
        z = clipped(z);
        if (way.turn(k)) sum -= z;
      }
      pre[row * turns + k] = paddle::log(1 + paddle::exp(z));
      sum += pre[row * turns + k];
    }
    out[row] = sum;
  }
};

// The gradient of each turn, and its node; turns that are none have node 0 and gradient 0.
template <class T>
struct HsigmoidSlope {
  int64_t classes, turns;
  const T *pre, *dout;
  const int64_t* label;
  T* slope;
  int64_t* nodes;
  PS_HD void operator()(int64_t row) const {
    const TreeWay way(label[row], classes);
    for (int64_t k = 0; k < turns; ++k) {
      const bool there = k < way.length();
      const T p = 1 - paddle::exp(-pre[row * turns + k]);
      slope[row * turns + k] = there ? dout[row] * (p - (way.turn(k) ? T(1) : T(0))) : T(0);
      nodes[row * turns + k] = there ? way.node(k) : 0;
    }
  }
};

template <class T>
struct HsigmoidInputGrad {
  int64_t turns, width;
  const T *slope, *w;
  const int64_t* nodes;
  T* dx;
  PS_HD void operator()(int64_t row) const {
    for (int64_t d = 0; d < width; ++d) {
      T sum = 0;
      for (int64_t k = 0; k < turns; ++k)
        sum += slope[row * turns + k] * w[nodes[row * turns + k] * width + d];
      dx[row * width + d] = sum;
    }
  }
};

template <class T>
struct HsigmoidWeightRows {
  int64_t turns, width;
  const T *slope, *x;
  T* out;
  PS_HD void operator()(int64_t place) const {
    for (int64_t d = 0; d < width; ++d)
      out[place * width + d] = slope[place] * x[place / turns * width + d];
  }
};

void check_hsigmoid(const Infer& i) {
  const Shape &x = i.shape("X"), &w = i.shape("W"), &label = i.shape("Label");
  const int64_t classes = i.attr<int32_t>("num_classes");
  i.check(classes >= 2, "num_classes must be at least 2, found ", classes);
  i.check(x.rank() == 2, i.describe("X"), " must be [N, width]");
  i.check(w.rank() == 2 && w.compatible(Shape{classes - 1, x[1]}) && w[0] >= 0, i.describe("W"),
          " must be [", classes - 1, ", width]: one row less than there are classes");
  i.check(label.compatible(Shape{x[0], 1}) && i.dtype("Label") == DType::i64, i.describe("Label"),
          " must be int64 [N, 1] for ", i.describe("X"));
  i.check(i.dtype("W") == i.dtype("X"), "X and W must have one type");
  if (!i.has("Bias")) return;
  i.check(i.shape("Bias").numel() < 0 || i.shape("Bias").numel() == classes - 1, i.describe("Bias"),
          " must have ", classes - 1, " elements");
  i.check(i.dtype("Bias") == i.dtype("X"), "X and Bias must have one type");
}

void infer_hsigmoid(Infer& i) {
  check_hsigmoid(i);
  const Shape& x = i.shape("X");
  i.out("Out", {x[0], 1}, i.dtype("X"));
  i.out("PreOut", {x[0], longest_way(i.attr<int32_t>("num_classes"))}, i.dtype("X"));
}

void infer_hsigmoid_grad(Infer& i) {
  check_hsigmoid(i);
  const Shape& x = i.shape("X");
  const int64_t turns = longest_way(i.attr<int32_t>("num_classes"));
  i.check(i.shape("PreOut").compatible(Shape{x[0], turns}) && i.dtype("PreOut") == i.dtype("X"),
          i.describe("PreOut"), " must be [N, ", turns, "] of the type of X");
  const int64_t n = i.shape("Out@GRAD").numel();
  i.check((n < 0 || x[0] < 0 || n == x[0]) && i.dtype("Out@GRAD") == i.dtype("X"),
          i.describe("Out@GRAD"), " must have one number per row of ", i.describe("X"));
  if (i.has_out("X@GRAD")) i.out_like("X@GRAD", "X");
  if (i.has_out("W@GRAD")) i.out_like("W@GRAD", "W");
  if (!i.has_out("Bias@GRAD")) return;
  i.check(i.has("Bias"), "a gradient of Bias is asked for, and there is none");
  i.out_like("Bias@GRAD", "Bias");
}

const int64_t* checked_leaves(const Run& r, const View& label, int64_t classes) {
  const auto* ids = label.as<const int64_t>();
  const int64_t bad = first_bad_id(r, ids, label.numel(), classes);
  require(bad < 0, Error::Kind::data, "op hierarchical_sigmoid: the label ",
          bad < 0 ? 0 : read_one(r, ids + bad), " of row ", bad, " is none of ", classes,
          " classes: correct the data");
  return ids;
}

Kernel bind_hsigmoid(const Bind& b) {
  const Arg x = b.in("X"), w = b.in("W"), label = b.in("Label"), bias = b.in("Bias"),
            out = b.out("Out"), pre = b.out("PreOut");
  const int64_t classes = b.attr<int32_t>("num_classes"), turns = longest_way(classes);
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const int64_t rows = r[x].shape[0], width = r[x].shape[1];
      each(r, rows, turns * width,
           HsigmoidRow<T>{classes, width, turns, r[x].as<const T>(), r[w].as<const T>(),
                          bias ? r[bias].as<const T>() : nullptr,
                          checked_leaves(r, r[label], classes),
                          pre ? r[pre].as<T>() : r.scratch.get<T>(rows * turns), r[out].as<T>()});
    };
  });
}

Kernel bind_hsigmoid_grad(const Bind& b) {
  const Arg x = b.in("X"), w = b.in("W"), label = b.in("Label"), pre = b.in("PreOut"),
            dout = b.in("Out@GRAD"), dx = b.out("X@GRAD"), dw = b.out("W@GRAD"),
            db = b.out("Bias@GRAD");
  const int64_t classes = b.attr<int32_t>("num_classes"), turns = longest_way(classes);
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const int64_t rows = r[x].shape[0], width = r[x].shape[1], places = rows * turns;
      Pieces memory(r, Pieces::bytes<T>(places) + Pieces::bytes<int64_t>(places) +
                           Pieces::bytes<T>(places * width));
      T* slope = memory.take<T>(places);
      auto* nodes = memory.take<int64_t>(places);
      T* values = memory.take<T>(places * width);
      each(r, rows, turns,
           HsigmoidSlope<T>{classes, turns, r[pre].as<const T>(), r[dout].as<const T>(),
                            checked_leaves(r, r[label], classes), slope, nodes});
      if (dx)
        each(r, rows, turns * width,
             HsigmoidInputGrad<T>{turns, width, slope, r[w].as<const T>(), nodes, r[dx].as<T>()});
      if (db) {
        fill(r, r[db].numel(), r[db].as<T>(), T(0));
        scatter_add_rows(r, nodes, places, 1, T(1), slope, r[db].as<T>());
      }
      if (!dw) return;
      each(r, places, width,
           HsigmoidWeightRows<T>{turns, width, slope, r[x].as<const T>(), values});
      fill(r, r[dw].numel(), r[dw].as<T>(), T(0));
      scatter_add_rows(r, nodes, places, width, T(1), values, r[dw].as<T>());
    };
  });
}

}  // namespace

std::vector<OpDef> hsigmoid_ops() {
  const SlotDef bias{"Bias", SlotDef::optional};
  const Attrs attrs{{"num_classes", 2},          {"is_sparse", false}, {"remote_prefetch", false},
                    {"trainer_id", 0},           {"epmap", Strings{}}, {"table_names", Strings{}},
                    {"height_sections", Longs{}}};
  return {
      {.type = "hierarchical_sigmoid",
       .in = {{"X"}, {"W"}, {"Label"}, bias},
       .out = {{"Out"}, {"PreOut", SlotDef::intermediate}},
       .attrs = attrs,
       .infer = infer_hsigmoid,
       .bind = bind_hsigmoid,
       .grad = {"hierarchical_sigmoid_grad",
                {"X", "W", "Label", "Bias", "PreOut", "Out@GRAD"},
                {"X@GRAD", "W@GRAD", "Bias@GRAD"}}},
      {.type = "hierarchical_sigmoid_grad",
       .in = {{"X"}, {"W"}, {"Label"}, bias, {"PreOut"}, {"Out@GRAD"}},
       .out = {{"X@GRAD", SlotDef::optional},
               {"W@GRAD", SlotDef::optional},
               {"Bias@GRAD", SlotDef::optional}},
       .attrs = attrs,
       .infer = infer_hsigmoid_grad,
       .bind = bind_hsigmoid_grad,
       .shape_only = {"Bias"}},
  };
}

}  // namespace paddle
