// kernels/class_loss.h on a GPU: one thread for each row or column of classes.
#include "kernels/class_loss.h"

#include "kernels/cuda/memory.h"
#include "kernels/loss_column.h"

namespace paddle {
namespace {

struct BadLabel {
  ClassLabels labels;
  int64_t classes;
  PS_HD bool operator()(int64_t row) const {
    return (labels.at[row] < 0 || labels.at[row] >= classes) && !labels.ignored(row);
  }
};

struct CrossEntropyRow {
  int64_t classes;
  ClassLabels labels;
  template <class T>
  PS_HD void operator()(int64_t row, const T* p, T* loss, T* match) const {
    const bool skip = labels.ignored(row);
    const T of_label = skip ? T(0) : p[row * classes + labels.at[row]];
    loss[row] = skip ? T(0) : -tolerable(paddle::log(of_label));
    if (match != nullptr) match[row] = of_label;
  }
};

struct CrossEntropyGradRow {
  int64_t classes;
  bool matched;
  ClassLabels labels;
  template <class T>
  PS_HD void operator()(int64_t row, const T* p, const T* dloss, T* dp) const {
    if (labels.ignored(row)) return;
    const int64_t at = row * classes + labels.at[row];
    dp[at] = over(dloss[row], p[matched ? row : at]);
  }
};

struct SoftCrossEntropyRow {
  int64_t classes;
  template <class T>
  PS_HD void operator()(int64_t row, const T* p, const T* weights, T* loss) const {
    T sum = 0;
    for (int64_t k = row * classes; k < (row + 1) * classes; ++k)
      sum += weights[k] * tolerable(paddle::log(p[k]));
    loss[row] = -sum;
  }
};

struct SoftCrossEntropyGradAt {
  int64_t classes;
  template <class T>
  PS_HD void operator()(int64_t k, const T* p, const T* weights, const T* dloss, T* dp) const {
    dp[k] = over(dloss[k / classes] * weights[k], p[k]);
  }
};

// As SoftmaxLoss of the CPU: <label, x> is taken before the softmax may overwrite the logits.
struct HardLossColumn {
  Around a;
  ClassLabels labels;
  template <class T>
  PS_HD void operator()(int64_t c, const T* x, T* softmax, T* loss) const {
    const Column<T> column{x + a.first(c), a.n, a.inner};
    const T picked = labels.ignored(c) ? T(0) : column[labels.at[c]];
    const auto [top, sum] = softmax_column(column, softmax + a.first(c));
    loss[c] = tolerable(labels.ignored(c) ? T(0) : (top - picked) + paddle::log(sum));
  }
};

struct SoftLossColumn {
  Around a;
  template <class T>
  PS_HD void operator()(int64_t c, const T* x, const T* weights, T* softmax, T* loss) const {
    const Column<T> column{x + a.first(c), a.n, a.inner}, w{weights + a.first(c), a.n, a.inner};
    const T picked = column.dot(w), weight = w.sum();
    const auto [top, sum] = softmax_column(column, softmax + a.first(c));
    loss[c] = tolerable((weight * top - picked) + weight * paddle::log(sum));
  }
};

struct HardLossGradColumn {
  Around a;
  ClassLabels labels;
  template <class T>
  PS_HD void operator()(int64_t c, const T* p, const T* g, T* dx) const {
    const bool skip = labels.ignored(c);
    const T scale = skip ? T(0) : g[c];
    const int64_t at = a.first(c);
    for (int64_t k = 0, i = at; k < a.n; ++k, i += a.inner) dx[i] = p[i] * scale;
    if (!skip) dx[at + labels.at[c] * a.inner] -= g[c];
  }
};

struct SoftLossGradColumn {
  Around a;
  template <class T>
  PS_HD void operator()(int64_t c, const T* p, const T* w, const T* g, T* dx) const {
    const int64_t at = a.first(c);
    const T weight = Column<T>{w + at, a.n, a.inner}.sum();
    for (int64_t k = 0, i = at; k < a.n; ++k, i += a.inner) dx[i] = (weight * p[i] - w[i]) * g[c];
  }
};

}  // namespace

int64_t first_bad_label(const Device& device, const ClassLabels& labels, int64_t rows,
                        int64_t classes) {
  return cuda::first_bad(device, rows, BadLabel{labels, classes});
}

template <class T>
void cross_entropy(const Device& device, int64_t rows, int64_t classes, const T* p,
                   const ClassLabels& labels, T* loss, T* match) {
  cuda::launch(device, rows, CrossEntropyRow{classes, labels}, p, loss, match);
}

template <class T>
void cross_entropy_grad(const Device& device, int64_t rows, int64_t classes, const T* p,
                        bool matched, const ClassLabels& labels, const T* dloss, T* dp) {
  fill(device, rows * classes, dp, T(0));
  cuda::launch(device, rows, CrossEntropyGradRow{classes, matched, labels}, p, dloss, dp);
}

template <class T>
void soft_cross_entropy(const Device& device, int64_t rows, int64_t classes, const T* p,
                        const T* weights, T* loss) {
  cuda::launch(device, rows, SoftCrossEntropyRow{classes}, p, weights, loss);
}

template <class T>
void soft_cross_entropy_grad(const Device& device, int64_t rows, int64_t classes, const T* p,
                             const T* weights, const T* dloss, T* dp) {
  cuda::launch(device, rows * classes, SoftCrossEntropyGradAt{classes}, p, weights, dloss, dp);
}

template <class T>
void softmax_loss(const Device& device, const Around& a, const T* x, const ClassLabels& labels,
                  T* softmax, T* loss) {
  if (a.n > 0) cuda::launch(device, a.columns(), HardLossColumn{a, labels}, x, softmax, loss);
}
template <class T>
void softmax_loss(const Device& device, const Around& a, const T* x, const T* weights, T* softmax,
                  T* loss) {
  if (a.n > 0) cuda::launch(device, a.columns(), SoftLossColumn{a}, x, weights, softmax, loss);
}
template <class T>
void softmax_loss_grad(const Device& device, const Around& a, const T* softmax,
                       const ClassLabels& labels, const T* dloss, T* dx) {
  cuda::launch(device, a.columns(), HardLossGradColumn{a, labels}, softmax, dloss, dx);
}
template <class T>
void softmax_loss_grad(const Device& device, const Around& a, const T* softmax, const T* weights,
                       const T* dloss, T* dx) {
  cuda::launch(device, a.columns(), SoftLossGradColumn{a}, softmax, weights, dloss, dx);
}

#define PS_CLASS_LOSS(T)                                                                          \
  template void cross_entropy(const Device&, int64_t, int64_t, const T*, const ClassLabels&, T*,  \
                              T*);                                                                \
  template void cross_entropy_grad(const Device&, int64_t, int64_t, const T*, bool,               \
                                   const ClassLabels&, const T*, T*);                             \
  template void soft_cross_entropy(const Device&, int64_t, int64_t, const T*, const T*, T*);      \
  template void soft_cross_entropy_grad(const Device&, int64_t, int64_t, const T*, const T*,      \
                                        const T*, T*);                                            \
  template void softmax_loss(const Device&, const Around&, const T*, const ClassLabels&, T*, T*); \
  template void softmax_loss(const Device&, const Around&, const T*, const T*, T*, T*);           \
  template void softmax_loss_grad(const Device&, const Around&, const T*, const ClassLabels&,     \
                                  const T*, T*);                                                  \
  template void softmax_loss_grad(const Device&, const Around&, const T*, const T*, const T*, T*);
PS_CLASS_LOSS(float)
PS_CLASS_LOSS(double)
#undef PS_CLASS_LOSS

}  // namespace paddle
