#include "kernels/class_loss.h"

#include <algorithm>

#include "kernels/loss_column.h"
#include "kernels/softmax_rows.h"

namespace paddle {
namespace {

// loss = weight * (top + log(sum)) - <label, x>, from the logits rather than from the softmax,
// which may have become zero. `picked` is <label, x>, taken before Softmax may overwrite the
// logits.
template <class T, bool soft>
struct SoftmaxLoss {
  Around a;
  ClassLabels hard;
  const T *x, *weights;
  T *softmax, *loss;

  Column<T> column(const T* p, int64_t c) const { return {p + a.first(c), a.n, a.inner}; }
  void before(int64_t c) const {
    if constexpr (soft)
      loss[c] = column(x, c).dot(column(weights, c));
    else
      loss[c] = hard.ignored(c) ? T(0) : column(x, c)[hard.at[c]];
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
  void run(const Device& device) const {
    if (a.n == 0) return;
    if (a.inner == 1)
      return softmax_rows(
          device, a.outer, a.n, x, softmax, [this](int64_t c) { before(c); },
          [this](int64_t c, T top, T sum) { after(c, top, sum); });
    device.pool().parallel_for(
        a.columns(), map_grain / (a.n + 1) + 1, [this](int64_t b, int64_t e) {
          for (int64_t c = b; c < e; ++c) {
            before(c);
            const auto [top, sum] = softmax_column(column(x, c), softmax + a.first(c));
            after(c, top, sum);
          }
        });
  }
};

// dx = (weight * softmax - label) * dloss, where the weight of a hard label is 1.
template <bool soft, class T>
void loss_grad(const Device& device, const Around& a, const T* p, const ClassLabels& hard,
               const T* w, const T* g, T* to) {
  for_row_groups(device, a.columns(), a.n, [=](int64_t first, int64_t count) {
    for (int64_t c = first; c < first + count; ++c) {
      const int64_t at = a.first(c);
      if constexpr (soft) {
        const T weight = Column<T>{w + at, a.n, a.inner}.sum();
        for (int64_t k = 0, i = at; k < a.n; ++k, i += a.inner)
          to[i] = (weight * p[i] - w[i]) * g[c];
      } else {
        const T scale = hard.ignored(c) ? T(0) : g[c];
        for (int64_t k = 0, i = at; k < a.n; ++k, i += a.inner) to[i] = p[i] * scale;
        if (!hard.ignored(c)) to[at + hard.at[c] * a.inner] -= g[c];
      }
    }
  });
}

}  // namespace

int64_t first_bad_label(const Device&, const ClassLabels& labels, int64_t rows, int64_t classes) {
  for (int64_t row = 0; row < rows; ++row)
    if ((labels.at[row] < 0 || labels.at[row] >= classes) && !labels.ignored(row)) return row;
  return -1;
}

template <class T>
void cross_entropy(const Device& device, int64_t rows, int64_t classes, const T* p,
                   const ClassLabels& labels, T* loss, T* match) {
  device.pool().parallel_for(rows, map_grain, [=](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const bool skip = labels.ignored(row);
      const T of_label = skip ? T(0) : p[row * classes + labels.at[row]];
      loss[row] = skip ? T(0) : -tolerable(paddle::log(of_label));
      if (match != nullptr) match[row] = of_label;
    }
  });
}

template <class T>
void cross_entropy_grad(const Device& device, int64_t rows, int64_t classes, const T* p,
                        bool matched, const ClassLabels& labels, const T* dloss, T* dp) {
  for_row_groups(device, rows, classes, [=](int64_t first, int64_t count) {
    std::fill_n(dp + first * classes, count * classes, T(0));
    for (int64_t row = first; row < first + count; ++row) {
      if (labels.ignored(row)) continue;
      const int64_t at = row * classes + labels.at[row];
      dp[at] = over(dloss[row], p[matched ? row : at]);
    }
  });
}

template <class T>
void soft_cross_entropy(const Device& device, int64_t rows, int64_t classes, const T* p,
                        const T* weights, T* loss) {
  for_row_groups(device, rows, classes, [=](int64_t first, int64_t count) {
    for (int64_t row = first; row < first + count; ++row) {
      T sum = 0;
      for (int64_t k = row * classes; k < (row + 1) * classes; ++k)
        sum += weights[k] * tolerable(paddle::log(p[k]));
      loss[row] = -sum;
    }
  });
}

template <class T>
void soft_cross_entropy_grad(const Device& device, int64_t rows, int64_t classes, const T* p,
                             const T* weights, const T* dloss, T* dp) {
  for_row_groups(device, rows, classes, [=](int64_t first, int64_t count) {
    for (int64_t k = first * classes; k < (first + count) * classes; ++k)
      dp[k] = over(dloss[k / classes] * weights[k], p[k]);
  });
}

template <class T>
void softmax_loss(const Device& device, const Around& a, const T* x, const ClassLabels& labels,
                  T* softmax, T* loss) {
  SoftmaxLoss<T, false>{a, labels, x, nullptr, softmax, loss}.run(device);
}
template <class T>
void softmax_loss(const Device& device, const Around& a, const T* x, const T* weights, T* softmax,
                  T* loss) {
  SoftmaxLoss<T, true>{a, {}, x, weights, softmax, loss}.run(device);
}
template <class T>
void softmax_loss_grad(const Device& device, const Around& a, const T* softmax,
                       const ClassLabels& labels, const T* dloss, T* dx) {
  loss_grad<false>(device, a, softmax, labels, static_cast<const T*>(nullptr), dloss, dx);
}
template <class T>
void softmax_loss_grad(const Device& device, const Around& a, const T* softmax, const T* weights,
                       const T* dloss, T* dx) {
  loss_grad<true>(device, a, softmax, {}, weights, dloss, dx);
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
