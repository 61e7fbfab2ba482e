// cross_entropy and cross_entropy2: losses of probabilities and class labels.
#include <algorithm>

#include "ops/labels.h"
#include "ops/softmax_rows.h"

namespace paddle {
namespace {

// -dy / p without the infinity of p = 0.
template <class T>
T over(T dy, T p) {
  return dy == 0 ? T(0) : tolerable(-dy / p);
}

void infer_cross_entropy(Infer& i) {
  const Shape& x = i.shape("X");
  i.check(x.rank() >= 1, i.tell("X"), " needs a dimension of classes");
  const bool soft = i.op().attrs.get<bool>("soft_label", false);
  const Shape loss = check_label(i, "X", x.rank() - 1, soft);
  i.out("Y", loss, i.dtype("X"));
  i.share_lod("X", "Y");
  i.out("MatchX", loss, i.dtype("X"));
  Shape with_zero = x;  // carries the shape of X and no memory
  if (i.has_out("XShape")) with_zero.append(0);
  i.out("XShape", with_zero, i.dtype("X"));
  i.share_lod("X", "XShape");
}

// y = -log of the probability of the label; `match`, where wanted, keeps that probability.
Kernel bind_hard(const Bind& b) {
  const Arg x = b.in("X"), label = b.in("Label"), y = b.out("Y"), match = b.out("MatchX");
  const int64_t ignore = b.attr<int32_t>("ignore_index");
  const char* op = type_of(b);
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const Around a(r[x].shape, -1);
      const Labels labels{r[label].as<const int64_t>(), a.n, ignore, op};
      const T* p = r[x].as<const T>();
      T *loss = r[y].as<T>(), *kept = match ? r[match].as<T>() : nullptr;
      r.pool.parallel_for(a.outer, map_grain, [=](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          const bool skip = labels.ignored(row);
          const T of_label = skip ? T(0) : p[row * a.n + labels.checked(row)];
          loss[row] = skip ? T(0) : -tolerable(paddle::log(of_label));
          if (kept != nullptr) kept[row] = of_label;
        }
      });
    };
  });
}

Kernel bind_soft(const Bind& b) {
  const Arg x = b.in("X"), label = b.in("Label"), y = b.out("Y");
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const Around a(r[x].shape, -1);
      const T *p = r[x].as<const T>(), *w = r[label].as<const T>();
      T* loss = r[y].as<T>();
      for_row_groups(r.pool, a.outer, a.n, [=](int64_t first, int64_t count) {
        for (int64_t row = first; row < first + count; ++row) {
          T sum = 0;
          for (int64_t k = row * a.n; k < (row + 1) * a.n; ++k)
            sum += w[k] * tolerable(paddle::log(p[k]));
          loss[row] = -sum;
        }
      });
    };
  });
}

Kernel bind_cross_entropy(const Bind& b) {
  return b.attr<bool>("soft_label") ? bind_soft(b) : bind_hard(b);
}

// dX is zero but at the label, where it is -dY / p; p stands in X, or alone in MatchX.
Kernel bind_hard_grad(const Bind& b) {
  const Arg x = b.in("X"), match = b.in("MatchX"), label = b.in("Label");
  const Arg dy = b.in("Y@GRAD"), dx = b.out("X@GRAD");
  const int64_t ignore = b.attr<int32_t>("ignore_index");
  const char* op = type_of(b);
  return with_float(b.dtype("Y@GRAD"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const Around a(r[dx].shape, -1);
      const Labels labels{r[label].as<const int64_t>(), a.n, ignore, op};
      const T* p = r[match ? match : x].as<const T>();
      const T* g = r[dy].as<const T>();
      T* to = r[dx].as<T>();
      for_row_groups(r.pool, a.outer, a.n, [=](int64_t first, int64_t count) {
        std::fill_n(to + first * a.n, count * a.n, T(0));
        for (int64_t row = first; row < first + count; ++row) {
          if (labels.ignored(row)) continue;
          const int64_t at = row * a.n + labels.checked(row);
          to[at] = over(g[row], p[match ? row : at]);
        }
      });
    };
  });
}

Kernel bind_soft_grad(const Bind& b) {
  const Arg x = b.in("X"), label = b.in("Label"), dy = b.in("Y@GRAD"), dx = b.out("X@GRAD");
  return with_float(b.dtype("Y@GRAD"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const Around a(r[x].shape, -1);
      const T *p = r[x].as<const T>(), *w = r[label].as<const T>(), *g = r[dy].as<const T>();
      T* to = r[dx].as<T>();
      for_row_groups(r.pool, a.outer, a.n, [=](int64_t first, int64_t count) {
        for (int64_t k = first * a.n; k < (first + count) * a.n; ++k)
          to[k] = over(g[k / a.n] * w[k], p[k]);
      });
    };
  });
}

Kernel bind_cross_entropy_grad(const Bind& b) {
  return b.attr<bool>("soft_label") ? bind_soft_grad(b) : bind_hard_grad(b);
}

void infer_cross_entropy_grad2(Infer& i) {
  const Shape &kept = i.shape("XShape"), &dy = i.shape("Y@GRAD");
  i.check(kept.rank() >= 2, i.tell("XShape"), " must be the shape of X and a 0");
  Shape loss = kept.slice(0, kept.rank() - 1);
  loss[loss.rank() - 1] = 1;
  i.check(i.dtype("Label") == DType::i64, "Label must be int64, found ", name_of(i.dtype("Label")));
  i.check(loss.compatible(dy) && (loss.numel() < 0 || i.shape("Label").numel() < 0 ||
                                  loss.numel() == i.shape("Label").numel()),
          "the gradient ", i.tell("Y@GRAD"), " and ", i.tell("Label"), " must have the rows of ",
          i.tell("XShape"));
  i.out("X@GRAD", kept.slice(0, kept.rank() - 1), i.dtype("Y@GRAD"));
  i.share_lod("XShape", "X@GRAD");
}

}  // namespace

std::vector<OpDef> cross_entropy_ops() {
  const Attrs attrs = {{"soft_label", false}, {"ignore_index", -100}};
  const Attrs hard_attrs = {{"ignore_index", -100}};
  return {
      {.type = "cross_entropy",
       .in = {{"X"}, {"Label"}},
       .out = {{"Y"}},
       .attrs = attrs,
       .infer = infer_cross_entropy,
       .bind = bind_cross_entropy,
       .grad = {"cross_entropy_grad", {"X", "Label", "Y@GRAD"}, {"X@GRAD"}}},
      {.type = "cross_entropy_grad",
       .in = {{"X"}, {"Label"}, {"Y@GRAD"}},
       .out = {{"X@GRAD", SlotDef::optional}},
       .attrs = attrs,
       .infer = infer_grad_same,
       .bind = bind_cross_entropy_grad},
      {.type = "cross_entropy2",
       .in = {{"X"}, {"Label"}},
       .out = {{"Y"}, {"MatchX", SlotDef::intermediate}, {"XShape", SlotDef::intermediate}},
       .attrs = hard_attrs,
       .infer = infer_cross_entropy,
       .bind = bind_hard,
       .grad = {"cross_entropy_grad2", {"Label", "MatchX", "XShape", "Y@GRAD"}, {"X@GRAD"}}},
      {.type = "cross_entropy_grad2",
       .in = {{"Label"}, {"MatchX"}, {"XShape"}, {"Y@GRAD"}},
       .out = {{"X@GRAD", SlotDef::optional}},
       .attrs = hard_attrs,
       .infer = infer_cross_entropy_grad2,
       .bind = bind_hard_grad,
       .shape_only = {"XShape"}},
  };
}

}  // namespace paddle
