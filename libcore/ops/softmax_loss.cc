// softmax_with_cross_entropy: the loss of logits and class labels, along any axis.
#include <algorithm>
#include <utility>

#include "ops/labels.h"
#include "ops/softmax_rows.h"

namespace paddle {
namespace {

void infer_softmax_loss(Infer& i) {
  const Shape& x = i.shape("Logits");
  const int axis = resolve_axis(i, i.attr<int32_t>("axis"), x.rank());
  i.out_like("Softmax", "Logits");
  i.out("Loss", check_label(i, "Logits", axis, i.attr<bool>("soft_label")), i.dtype("Logits"));
  i.share_lod("Logits", "Loss");
}

// One column of the general case: n elements, `step` apart.
template <class T>
struct Column {
  const T* at;
  int64_t n, step;
  T operator[](int64_t k) const { return at[k * step]; }
  T sum() const {
    T s = 0;
    for (int64_t k = 0; k < n; ++k) s += (*this)[k];
    return s;
  }
  T dot(const Column& o) const {
    T s = 0;  // a class without weight adds nothing, even where its logit is infinite
    for (int64_t k = 0; k < n; ++k) s += o[k] == 0 ? T(0) : (*this)[k] * o[k];
    return s;
  }
};

// The softmax of one column in place or beside; returns its largest element and the sum below it.
template <class T>
std::pair<T, T> softmax_column(const Column<T>& x, T* out) {
  T top = x[0], sum = 0;
  for (int64_t k = 1; k < x.n; ++k) top = std::max(top, x[k]);
  for (int64_t k = 0; k < x.n; ++k) sum += out[k * x.step] = paddle::exp(x[k] - top);
  for (int64_t k = 0; k < x.n; ++k) out[k * x.step] /= sum;
  return {top, sum};
}

// loss = weight * (top + log(sum)) - <label, x>, from the logits rather than from the softmax,
// which may have become zero. `picked` is <label, x>, taken before Softmax may overwrite the
// logits.
template <class T, bool soft>
struct SoftmaxLoss {
  Around a;
  Labels hard;
  const T *x, *weights;
  T *softmax, *loss;

  Column<T> column(const T* p, int64_t c) const { return {p + a.first(c), a.n, a.inner}; }
  void before(int64_t c) const {
    if constexpr (soft)
      loss[c] = column(x, c).dot(column(weights, c));
    else
      loss[c] = hard.ignored(c) ? T(0) : column(x, c)[hard.checked(c)];
  }
  void after(int64_t c, T top, T sum) const {
    const T log_sum = paddle::log(sum);
    if constexpr (soft) {
      const T weight = column(weights, c).sum();
      loss[c] = (weight * top - loss[c]) + weight * log_sum;
    } else {
      loss[c] = hard.ignored(c) ? T(0) : (top - loss[c]) + log_sum;
    }
    loss[c] = tolerable(loss[c]);
  }
  void run(ThreadPool& pool) const {
    if (a.n == 0) return;
    if (a.inner == 1)
      return softmax_rows(
          pool, a.outer, a.n, x, softmax, [this](int64_t c) { before(c); },
          [this](int64_t c, T top, T sum) { after(c, top, sum); });
    pool.parallel_for(a.columns(), map_grain / (a.n + 1) + 1, [this](int64_t b, int64_t e) {
      for (int64_t c = b; c < e; ++c) {
        before(c);
        const auto [top, sum] = softmax_column(column(x, c), softmax + a.first(c));
        after(c, top, sum);
      }
    });
  }
};

template <class T, bool soft>
Kernel softmax_loss(const Bind& b) {
  const Arg x = b.in("Logits"), label = b.in("Label"), y = b.out("Softmax"), loss = b.out("Loss");
  const int64_t ignore = b.attr<int32_t>("ignore_index");
  const auto axis = b.attr<int32_t>("axis");
  const char* op = type_of(b);
  return [=](const Run& r) {
    const Around a(r[x].shape, axis);
    const View& l = r[label];
    T* out = y ? r[y].as<T>() : r.scratch.get<T>(r[x].numel());
    SoftmaxLoss<T, soft>{a,
                         {l.as<const int64_t>(), a.n, ignore, op},
                         r[x].as<const T>(),
                         l.as<const T>(),
                         out,
                         r[loss].as<T>()}
        .run(r.pool);
  };
}

Kernel bind_softmax_loss(const Bind& b) {
  return with_float(b.dtype("Logits"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return b.attr<bool>("soft_label") ? softmax_loss<T, true>(b) : softmax_loss<T, false>(b);
  });
}

// dLogits = (weight * softmax - label) * dLoss, where the weight of a hard label is 1.
template <class T, bool soft>
Kernel softmax_loss_grad(const Bind& b) {
  const Arg label = b.in("Label"), y = b.in("Softmax"), dy = b.in("Loss@GRAD");
  const Arg dx = b.out("Logits@GRAD");
  const int64_t ignore = b.attr<int32_t>("ignore_index");
  const auto axis = b.attr<int32_t>("axis");
  const char* op = type_of(b);
  return [=](const Run& r) {
    const Around a(r[y].shape, axis);
    const Labels hard{r[label].as<const int64_t>(), a.n, ignore, op};
    const T *p = r[y].as<const T>(), *w = r[label].as<const T>(), *g = r[dy].as<const T>();
    T* to = r[dx].as<T>();
    for_row_groups(r.pool, a.columns(), a.n, [=](int64_t first, int64_t count) {
      for (int64_t c = first; c < first + count; ++c) {
        const int64_t at = a.first(c);
        if constexpr (soft) {
          const T weight = Column<T>{w + at, a.n, a.inner}.sum();
          for (int64_t k = 0, i = at; k < a.n; ++k, i += a.inner)
            to[i] = (weight * p[i] - w[i]) * g[c];
        } else {
          const T scale = hard.ignored(c) ? T(0) : g[c];
          for (int64_t k = 0, i = at; k < a.n; ++k, i += a.inner) to[i] = p[i] * scale;
          if (!hard.ignored(c)) to[at + hard.checked(c) * a.inner] -= g[c];
        }
      }
    });
  };
}

Kernel bind_softmax_loss_grad(const Bind& b) {
  return with_float(b.dtype("Softmax"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return b.attr<bool>("soft_label") ? softmax_loss_grad<T, true>(b)
                                      : softmax_loss_grad<T, false>(b);
  });
}

void infer_softmax_loss_grad(Infer& i) {
  const int axis = resolve_axis(i, i.attr<int32_t>("axis"), i.shape("Softmax").rank());
  const Shape loss = check_label(i, "Softmax", axis, i.attr<bool>("soft_label"));
  i.check(loss.compatible(i.shape("Loss@GRAD")) && i.dtype("Loss@GRAD") == i.dtype("Softmax"),
          "the gradient ", i.tell("Loss@GRAD"), " must be ", name_of(i.dtype("Softmax")), " ", loss,
          " as the loss of ", i.tell("Softmax"));
  i.out_like("Logits@GRAD", "Softmax");
}

}  // namespace

std::vector<OpDef> softmax_loss_ops() {
  const Attrs attrs = {
      {"soft_label", false}, {"ignore_index", -100}, {"numeric_stable_mode", true}, {"axis", -1}};
  return {
      {.type = "softmax_with_cross_entropy",
       .in = {{"Logits"}, {"Label"}},
       .out = {{"Softmax", SlotDef::intermediate}, {"Loss"}},
       .attrs = attrs,
       .infer = infer_softmax_loss,
       .bind = bind_softmax_loss,
       .grad = {"softmax_with_cross_entropy_grad",
                {"Label", "Softmax", "Loss@GRAD"},
                {"Logits@GRAD"}},
       .inplace = {{"Logits", "Softmax"}}},
      {.type = "softmax_with_cross_entropy_grad",
       .in = {{"Label"}, {"Softmax"}, {"Loss@GRAD"}},
       .out = {{"Logits@GRAD", SlotDef::optional}},
       .attrs = attrs,
       .infer = infer_softmax_loss_grad,
       .bind = bind_softmax_loss_grad,
       .inplace = {{"Softmax", "Logits@GRAD"}}},
  };
}

}  // namespace paddle
