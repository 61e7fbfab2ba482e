// Losses of ranking and of soft labels: rank_loss, margin_rank_loss, bpr_loss, smooth_l1_loss,
// kldiv_loss, teacher_student_sigmoid_loss.
#include "kernels/each.h"
#include "kernels/map.h"
#include "kernels/math.h"
#include "kernels/memory.h"
#include "kernels/rows.h"
#include "ops/common.h"

namespace paddle {
namespace {

// All of the slots have one shape and one float type.
void check_alike(const Infer& i, std::initializer_list<const char*> slots) {
  const char* first = *slots.begin();
  for (const char* slot : slots) {
    i.check_same(first, slot);
    i.check(i.dtype(first) == i.dtype(slot), first, " and ", slot, " must have one type, found ",
            name_of(i.dtype(first)), " and ", name_of(i.dtype(slot)));
  }
}

// log(1 + e^x) without overflow.
template <class T>
PS_INLINE PS_HD T softplus_of(T x) {
  return (x > 0 ? x : T(0)) + paddle::log(1 + paddle::exp(x > 0 ? -x : x));
}

// ---- rank_loss: log(1 + e^o) - label * o, with o = left - right

struct RankLoss {
  template <class T>
  PS_INLINE PS_HD T operator()(T label, T left, T right) const {
    return softplus_of(left - right) - label * (left - right);
  }
};
struct RankLossGrad {
  float sign;
  template <class T>
  PS_INLINE PS_HD T operator()(T label, T left, T right, T dout) const {
    return T(sign) * dout * (paddle::sigmoid(left - right) - label);
  }
};

void infer_rank_loss(Infer& i) {
  check_alike(i, {"Left", "Right", "Label"});
  i.out_like("Out", "Left");
}

Kernel bind_rank_loss(const Bind& b) {
  const Arg label = b.in("Label"), left = b.in("Left"), right = b.in("Right"), out = b.out("Out");
  return with_float(b.dtype("Left"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      map(r, r[left].numel(), RankLoss{}, r[out].as<T>(), r[label].as<const T>(),
          r[left].as<const T>(), r[right].as<const T>());
    };
  });
}

Kernel bind_rank_loss_grad(const Bind& b) {
  const Arg label = b.in("Label"), left = b.in("Left"), right = b.in("Right"),
            dout = b.in("Out@GRAD"), dleft = b.out("Left@GRAD"), dright = b.out("Right@GRAD");
  return with_float(b.dtype("Left"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const auto give = [&](Arg to, float sign) {
        map(r, r[left].numel(), RankLossGrad{sign}, r[to].as<T>(), r[label].as<const T>(),
            r[left].as<const T>(), r[right].as<const T>(), r[dout].as<const T>());
      };
      if (dleft) give(dleft, 1);
      if (dright) give(dright, -1);
    };
  });
}

// ---- margin_rank_loss: max(0, margin - label * (x1 - x2)); Activated is 1 where that is above 0

struct MarginRank {
  float margin;
  template <class T>
  PS_INLINE PS_HD T operator()(T label, T x1, T x2) const {
    const T rest = T(margin) - label * (x1 - x2);
    return rest > 0 ? rest : T(0);
  }
};
struct IsAbove {
  template <class T>
  PS_INLINE PS_HD T operator()(T x) const {
    return x > 0 ? T(1) : T(0);
  }
};
struct MarginRankGrad {
  float sign;
  template <class T>
  PS_INLINE PS_HD T operator()(T label, T activated, T dout) const {
    return T(sign) * dout * label * activated;
  }
};

void infer_margin_rank(Infer& i) {
  check_alike(i, {"X1", "X2", "Label"});
  i.out_like("Out", "X1");
  i.out_like("Activated", "X1");
}
void infer_margin_rank_grad(Infer& i) {
  check_alike(i, {"Label", "Activated", "Out@GRAD"});
  for (const char* slot : {"X1@GRAD", "X2@GRAD"})
    if (i.has_out(slot)) i.out_like(slot, "Label");
}

Kernel bind_margin_rank(const Bind& b) {
  const Arg label = b.in("Label"), x1 = b.in("X1"), x2 = b.in("X2"), out = b.out("Out"),
            activated = b.out("Activated");
  const MarginRank f{b.attr<float>("margin")};
  return with_float(b.dtype("X1"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const int64_t n = r[x1].numel();
      map(r, n, f, r[out].as<T>(), r[label].as<const T>(), r[x1].as<const T>(),
          r[x2].as<const T>());
      if (activated) map(r, n, IsAbove{}, r[activated].as<T>(), r[out].as<const T>());
    };
  });
}

Kernel bind_margin_rank_grad(const Bind& b) {
  const Arg label = b.in("Label"), activated = b.in("Activated"), dout = b.in("Out@GRAD"),
            dx1 = b.out("X1@GRAD"), dx2 = b.out("X2@GRAD");
  return with_float(b.dtype("Label"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const auto give = [&](Arg to, float sign) {
        map(r, r[label].numel(), MarginRankGrad{sign}, r[to].as<T>(), r[label].as<const T>(),
            r[activated].as<const T>(), r[dout].as<const T>());
      };
      if (dx1) give(dx1, -1);
      if (dx2) give(dx2, 1);
    };
  });
}

// ---- bpr_loss: the mean of log(1 + e^(x_j - x_label)) over the classes j that are not the label

template <class T>
struct BprRow {
  int64_t classes;
  const T* x;
  const int64_t* label;
  T* out;
  PS_HD void operator()(int64_t row) const {
    const T* own = x + row * classes;
    T sum = 0;
    for (int64_t j = 0; j < classes; ++j)
      if (j != label[row]) sum += softplus_of(own[j] - own[label[row]]);
    out[row] = sum / static_cast<T>(classes - 1);
  }
};
template <class T>
struct BprRowGrad {
  int64_t classes;
  const T* x;
  const int64_t* label;
  const T* dout;
  T* dx;
  PS_HD void operator()(int64_t row) const {
    const T *own = x + row * classes, scale = dout[row] / static_cast<T>(classes - 1);
    T* to = dx + row * classes;
    T all = 0;
    for (int64_t j = 0; j < classes; ++j) {
      if (j == label[row]) continue;
      to[j] = scale * paddle::sigmoid(own[j] - own[label[row]]);
      all += to[j];
    }
    to[label[row]] = -all;
  }
};

void infer_bpr(Infer& i) {
  const Shape &x = i.shape("X"), &label = i.shape("Label");
  i.check(x.rank() == 2 && (x[1] >= 2 || x[1] < 0), i.describe("X"),
          " must be [N, classes] with at least 2 classes");
  i.check(label.compatible(Shape{x[0], 1}), i.describe("Label"), " must be [N, 1] for ",
          i.describe("X"));
  i.check(i.dtype("Label") == DType::i64, "Label must be int64, found ", name_of(i.dtype("Label")));
  i.out("Y", {x[0], 1}, i.dtype("X"));
  i.share_lod("X", "Y");
}

// The labels, all of which name a class.
const int64_t* checked_classes(const Run& r, const View& label, int64_t classes) {
  const auto* ids = label.as<const int64_t>();
  const int64_t bad = first_bad_id(r, ids, label.numel(), classes);
  require(bad < 0, Error::Kind::data, "op bpr_loss: the label ",
          bad < 0 ? 0 : read_one(r, ids + bad), " of row ", bad, " is none of ", classes,
          " classes: correct the data");
  return ids;
}

Kernel bind_bpr(const Bind& b) {
  const Arg x = b.in("X"), label = b.in("Label"), out = b.out("Y");
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const int64_t rows = r[x].shape[0], classes = r[x].shape[1];
      each(r, rows, classes,
           BprRow<T>{classes, r[x].as<const T>(), checked_classes(r, r[label], classes),
                     r[out].as<T>()});
    };
  });
}

Kernel bind_bpr_grad(const Bind& b) {
  const Arg x = b.in("X"), label = b.in("Label"), dout = b.in("Y@GRAD"), dx = b.out("X@GRAD");
  if (!dx) return [](const Run&) {};
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const int64_t rows = r[x].shape[0], classes = r[x].shape[1];
      each(r, rows, classes,
           BprRowGrad<T>{classes, r[x].as<const T>(), checked_classes(r, r[label], classes),
                         r[dout].as<const T>(), r[dx].as<T>()});
    };
  });
}

// ---- smooth_l1_loss: per row the sum of s d^2 / 2 where |d| < 1 / s, else |d| - 1 / 2s, with
// d = (x - y) * inside and s = sigma^2; each element times its outside weight

template <class T>
struct SmoothRowLoss {
  int64_t width;
  T s;
  const T *x, *y, *inside, *outside;  // weights may be null
  T *diff, *out;
  PS_HD void operator()(int64_t row) const {
    T sum = 0;
    for (int64_t k = row * width; k < (row + 1) * width; ++k) {
      const T d = (x[k] - y[k]) * (inside ? inside[k] : T(1)), size = d < 0 ? -d : d;
      if (diff) diff[k] = d;
      const T loss = size < 1 / s ? s * d * d / 2 : size - T(0.5) / s;
      sum += loss * (outside ? outside[k] : T(1));
    }
    out[row] = sum;
  }
};
template <class T>
struct SmoothRowGrad {
  int64_t width;
  T s, sign;
  const T *diff, *inside, *outside, *dout;
  T* to;
  PS_HD void operator()(int64_t row) const {
    for (int64_t k = row * width; k < (row + 1) * width; ++k) {
      const T d = diff[k], size = d < 0 ? -d : d;
      const T slope = size < 1 / s ? s * d : d > 0 ? T(1) : T(-1);
      to[k] =
          sign * slope * dout[row] * (inside ? inside[k] : T(1)) * (outside ? outside[k] : T(1));
    }
  }
};

void check_weights(const Infer& i, const char* like) {
  for (const char* slot : {"InsideWeight", "OutsideWeight"}) {
    if (!i.has(slot)) continue;
    i.check_same(like, slot);
    i.check(i.dtype(like) == i.dtype(slot), like, " and ", slot, " must have one type");
  }
}

void infer_smooth_l1(Infer& i) {
  check_alike(i, {"X", "Y"});
  check_weights(i, "X");
  i.check(i.shape("X").rank() >= 1, i.describe("X"), " needs rows");
  i.check(i.attr<float>("sigma") != 0, "sigma must not be 0");
  i.out("Out", {i.shape("X")[0], 1}, i.dtype("X"));
  i.out("Diff", i.shape("X"), i.dtype("X"));
}
void infer_smooth_l1_grad(Infer& i) {
  check_weights(i, "Diff");
  const Shape& diff = i.shape("Diff");
  i.check(diff.rank() >= 1 && i.shape("Out@GRAD").compatible(Shape{diff[0], 1}),
          i.describe("Out@GRAD"), " must have one number per row of ", i.describe("Diff"));
  for (const char* slot : {"X@GRAD", "Y@GRAD"})
    if (i.has_out(slot)) i.out(slot, diff, i.dtype("Diff"));
}

Kernel bind_smooth_l1(const Bind& b) {
  const Arg x = b.in("X"), y = b.in("Y"), inside = b.in("InsideWeight"),
            outside = b.in("OutsideWeight"), diff = b.out("Diff"), out = b.out("Out");
  const auto sigma = b.attr<float>("sigma");
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const Shape& s = r[x].shape;
      const int64_t width = s.product(1, s.rank());
      each(r, s[0], width,
           SmoothRowLoss<T>{width, T(sigma) * T(sigma), r[x].as<const T>(), r[y].as<const T>(),
                            inside ? r[inside].as<const T>() : nullptr,
                            outside ? r[outside].as<const T>() : nullptr,
                            diff ? r[diff].as<T>() : nullptr, r[out].as<T>()});
    };
  });
}

Kernel bind_smooth_l1_grad(const Bind& b) {
  const Arg diff = b.in("Diff"), inside = b.in("InsideWeight"), outside = b.in("OutsideWeight"),
            dout = b.in("Out@GRAD"), dx = b.out("X@GRAD"), dy = b.out("Y@GRAD");
  const auto sigma = b.attr<float>("sigma");
  return with_float(b.dtype("Diff"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const Shape& s = r[diff].shape;
      const int64_t width = s.product(1, s.rank());
      const auto give = [&](Arg to, T sign) {
        each(r, s[0], width,
             SmoothRowGrad<T>{width, T(sigma) * T(sigma), sign, r[diff].as<const T>(),
                              inside ? r[inside].as<const T>() : nullptr,
                              outside ? r[outside].as<const T>() : nullptr, r[dout].as<const T>(),
                              r[to].as<T>()});
      };
      if (dx) give(dx, 1);
      if (dy) give(dy, -1);
    };
  });
}

// ---- teacher_student_sigmoid_loss: the label says whether there was a click and, if it is 0 or
// more, what a teacher said: -2 no click, -1 a click; q in [0, 1) no click, 1 + q a click

struct TeacherStudent {
  template <class T>
  PS_INLINE PS_HD T operator()(T x, T label) const {
    const T own = softplus_of(x) - (label < -1 ? T(0) : label < 0 ? x : label < 1 ? T(0) : x);
    if (label < 0) return own;
    return own + softplus_of(x) - x * (label < 1 ? label : label - 1);
  }
};
struct TeacherStudentGrad {
  float low, high;
  template <class T>
  PS_INLINE PS_HD T operator()(T x, T label, T dy) const {
    if (x >= T(high) || x <= T(low)) return T(0);
    const T p = paddle::sigmoid(x);
    const T clicked = label < -1 ? T(0) : label < 0 ? T(1) : label;  // with q: click + q
    return dy * ((label < 0 ? p : 2 * p) - clicked);
  }
};

void infer_teacher_student(Infer& i) {
  check_alike(i, {"X", "Label"});
  i.out_like("Y", "X");
}

Kernel bind_teacher_student(const Bind& b) {
  const Arg x = b.in("X"), label = b.in("Label"), out = b.out("Y");
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      map(r, r[x].numel(), TeacherStudent{}, r[out].as<T>(), r[x].as<const T>(),
          r[label].as<const T>());
    };
  });
}

Kernel bind_teacher_student_grad(const Bind& b) {
  const Arg x = b.in("X"), label = b.in("Label"), dy = b.in("Y@GRAD"), dx = b.out("X@GRAD");
  if (!dx) return [](const Run&) {};
  const TeacherStudentGrad f{b.attr<float>("soft_max_lower_bound"),
                             b.attr<float>("soft_max_up_bound")};
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      map(r, r[x].numel(), f, r[dx].as<T>(), r[x].as<const T>(), r[label].as<const T>(),
          r[dy].as<const T>());
    };
  });
}

}  // namespace

std::vector<OpDef> rank_loss_ops() {
  const SlotDef optional_x{"X@GRAD", SlotDef::optional};
  const Attrs margin{{"margin", 0.0f}}, sigma{{"sigma", 1.0f}};
  const Attrs bounds{{"soft_max_up_bound", 15.0f}, {"soft_max_lower_bound", -15.0f}};
  const SlotDef inside{"InsideWeight", SlotDef::optional},
      outside{"OutsideWeight", SlotDef::optional};
  return {
      {.type = "rank_loss",
       .in = {{"Label"}, {"Left"}, {"Right"}},
       .out = {{"Out"}},
       .infer = infer_rank_loss,
       .bind = bind_rank_loss,
       .grad = {"rank_loss_grad",
                {"Label", "Left", "Right", "Out@GRAD"},
                {"Left@GRAD", "Right@GRAD"}}},
      {.type = "rank_loss_grad",
       .in = {{"Label"}, {"Left"}, {"Right"}, {"Out@GRAD"}},
       .out = {{"Left@GRAD", SlotDef::optional}, {"Right@GRAD", SlotDef::optional}},
       .infer = infer_grad_same,
       .bind = bind_rank_loss_grad},
      {.type = "margin_rank_loss",
       .in = {{"X1"}, {"X2"}, {"Label"}},
       .out = {{"Out"}, {"Activated", SlotDef::intermediate}},
       .attrs = margin,
       .infer = infer_margin_rank,
       .bind = bind_margin_rank,
       .grad = {"margin_rank_loss_grad",
                {"Label", "Activated", "Out@GRAD"},
                {"X1@GRAD", "X2@GRAD"}}},
      {.type = "margin_rank_loss_grad",
       .in = {{"Label"}, {"Activated"}, {"Out@GRAD"}},
       .out = {{"X1@GRAD", SlotDef::optional}, {"X2@GRAD", SlotDef::optional}},
       .attrs = margin,
       .infer = infer_margin_rank_grad,
       .bind = bind_margin_rank_grad},
      {.type = "bpr_loss",
       .in = {{"X"}, {"Label"}},
       .out = {{"Y"}},
       .infer = infer_bpr,
       .bind = bind_bpr,
       .grad = {"bpr_loss_grad", {"X", "Label", "Y@GRAD"}, {"X@GRAD"}}},
      {.type = "bpr_loss_grad",
       .in = {{"X"}, {"Label"}, {"Y@GRAD"}},
       .out = {optional_x},
       .infer = infer_grad_same,
       .bind = bind_bpr_grad},
      {.type = "smooth_l1_loss",
       .in = {{"X"}, {"Y"}, inside, outside},
       .out = {{"Out"}, {"Diff", SlotDef::intermediate}},
       .attrs = sigma,
       .infer = infer_smooth_l1,
       .bind = bind_smooth_l1,
       .grad = {"smooth_l1_loss_grad",
                {"InsideWeight", "OutsideWeight", "Diff", "Out@GRAD"},
                {"X@GRAD", "Y@GRAD"}}},
      {.type = "smooth_l1_loss_grad",
       .in = {inside, outside, {"Diff"}, {"Out@GRAD"}},
       .out = {optional_x, {"Y@GRAD", SlotDef::optional}},
       .attrs = sigma,
       .infer = infer_smooth_l1_grad,
       .bind = bind_smooth_l1_grad},
      {.type = "teacher_student_sigmoid_loss",
       .in = {{"X"}, {"Label"}},
       .out = {{"Y"}},
       .attrs = bounds,
       .infer = infer_teacher_student,
       .bind = bind_teacher_student,
       .grad = {"teacher_student_sigmoid_loss_grad", {"X", "Label", "Y@GRAD"}, {"X@GRAD"}}},
      {.type = "teacher_student_sigmoid_loss_grad",
       .in = {{"X"}, {"Label"}, {"Y@GRAD"}},
       .out = {optional_x},
       .attrs = bounds,
       .infer = infer_grad_same,
       .bind = bind_teacher_student_grad},
  };
}

}  // namespace paddle
