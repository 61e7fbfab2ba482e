// The update rules: one functor each. It holds the rule's numbers and updates one element: the
// parameter p, from its gradient g, with the states that belong to it. Ops and parameter-server
// shards run the same functors, over whole arrays or over rows (apply.h), by way of one table
// (rule.h). read() takes the numbers that change from step to step, in the order of Rule::inputs:
// on a GPU they are read there.
#pragma once

#include <cmath>

#include "kernels/lane_sum.h"
#include "kernels/simd.h"
#include "optim/apply.h"

namespace paddle::optim {

template <class T>
struct Sgd {
  static constexpr int states = 0;
  T lr;
  PS_HD void read(const T* inputs) { lr = inputs[0]; }
  PS_HD void operator()(T& p, T g) const { p -= lr * g; }
};

template <class T>
struct Momentum {
  static constexpr int states = 1;
  T lr, mu;
  bool nesterov;
  PS_HD void read(const T* inputs) { lr = inputs[0]; }
  PS_HD void operator()(T& p, T g, T& velocity) const {
    velocity = mu * velocity + g;
    p -= nesterov ? lr * (g + mu * velocity) : lr * velocity;
  }
};

template <class T>
struct Adagrad {
  static constexpr int states = 1;
  T lr, epsilon;
  PS_HD void read(const T* inputs) { lr = inputs[0]; }
  PS_HD void operator()(T& p, T g, T& moment) const {
    moment += g * g;
    p -= lr * g / (std::sqrt(moment) + epsilon);
  }
};

template <class T>
struct DecayedAdagrad {
  static constexpr int states = 1;
  T lr, decay, epsilon;
  PS_HD void read(const T* inputs) { lr = inputs[0]; }
  PS_HD void operator()(T& p, T g, T& moment) const {
    moment = decay * moment + (1 - decay) * g * g;
    p -= lr * g / (std::sqrt(moment) + epsilon);
  }
};

// beta1_pow and beta2_pow are beta1 and beta2 to the power of the step, counted from 1; their
// owner multiplies them on after the update. The correction is in the rate, so epsilon is not
// scaled by it.
template <class T>
struct Adam {
  static constexpr int states = 2;
  T rate, beta1, beta2, epsilon;
  Adam(T lr, T beta1_pow, T beta2_pow, T b1, T b2, T eps)
      : rate(corrected(lr, beta1_pow, beta2_pow)), beta1(b1), beta2(b2), epsilon(eps) {}
  PS_HD static T corrected(T lr, T beta1_pow, T beta2_pow) {
    return lr * std::sqrt(1 - beta2_pow) / (1 - beta1_pow);
  }
  PS_HD void read(const T* inputs) { rate = corrected(inputs[0], inputs[1], inputs[2]); }
  PS_HD void operator()(T& p, T g, T& moment1, T& moment2) const {
    moment1 = beta1 * moment1 + (1 - beta1) * g;
    moment2 = beta2 * moment2 + (1 - beta2) * g * g;
    p -= rate * moment1 / (std::sqrt(moment2) + epsilon);
  }
};

template <class T>
struct Adamax {
  static constexpr int states = 2;
  T rate, beta1, beta2, epsilon;
  Adamax(T lr, T beta1_pow, T b1, T b2, T eps)
      : rate(lr / (1 - beta1_pow)), beta1(b1), beta2(b2), epsilon(eps) {}
  PS_HD void read(const T* inputs) { rate = inputs[0] / (1 - inputs[1]); }
  PS_HD void operator()(T& p, T g, T& moment, T& inf_norm) const {
    const T size = std::abs(g), faded = beta2 * inf_norm + epsilon;
    moment = beta1 * moment + (1 - beta1) * g;
    inf_norm = size > faded ? size : faded;
    p -= rate * moment / inf_norm;
  }
};

template <class T>
struct Rmsprop {
  static constexpr int states = 2;
  T lr, decay, epsilon, momentum;
  PS_HD void read(const T* inputs) { lr = inputs[0]; }
  PS_HD void operator()(T& p, T g, T& moment, T& mean_square) const {
    mean_square = decay * mean_square + (1 - decay) * g * g;
    moment = momentum * moment + lr * g / std::sqrt(mean_square + epsilon);
    p -= moment;
  }
};

template <class T>
struct CenteredRmsprop {
  static constexpr int states = 3;
  T lr, decay, epsilon, momentum;
  PS_HD void read(const T* inputs) { lr = inputs[0]; }
  PS_HD void operator()(T& p, T g, T& moment, T& mean_square, T& mean_grad) const {
    mean_square = decay * mean_square + (1 - decay) * g * g;
    mean_grad = decay * mean_grad + (1 - decay) * g;
    moment = momentum * moment + lr * g / std::sqrt(mean_square - mean_grad * mean_grad + epsilon);
    p -= moment;
  }
};

template <class T>
struct Adadelta {  // has no learning rate: the updates' own size takes its place
  static constexpr int states = 2;
  T rho, epsilon;
  PS_HD void read(const T*) {}
  PS_HD void operator()(T& p, T g, T& squared_grad, T& squared_update) const {
    squared_grad = rho * squared_grad + (1 - rho) * g * g;
    const T update = -std::sqrt((squared_update + epsilon) / (squared_grad + epsilon)) * g;
    squared_update = rho * squared_update + (1 - rho) * update * update;
    p += update;
  }
};

// Follow the regularised leader. The strength of l2 is doubled, as in the op of this name.
template <class T>
struct Ftrl {
  static constexpr int states = 2;
  T lr, l1, l2, lr_power;
  PS_HD void read(const T* inputs) { lr = inputs[0]; }
  PS_HD T power(T squared) const {
    return lr_power == T(-0.5) ? std::sqrt(squared) : std::pow(squared, -lr_power);
  }
  PS_HD void operator()(T& p, T g, T& squared, T& linear) const {
    const T sum = squared + g * g, reach = power(sum);
    linear += g - (reach - power(squared)) / lr * p;
    squared = sum;
    const T shrunk = (linear > 0 ? l1 : -l1) - linear;
    p = std::abs(linear) > l1 ? shrunk / (reach / lr + 2 * l2) : T(0);
  }
};

// Adagrad with one number per row in place of one per element. Not a functor of one element, so it
// is the loop over rows itself: any order of rows gives the same bits.
struct RowwiseAdagradLoop {
  PS_INLINE void operator()(const RowsAt<float>& rows, float lr, float epsilon) const {
    const int64_t width = rows.width;
    for (int64_t i = 0; i < rows.count; ++i) {
      float* p = rows.values[i];
      const float* g = rows.grads[i];
      const double squares = lane_sum<float>(width, [&](int64_t j) { return g[j] * g[j]; });
      float& moment = *rows.states[i];
      moment += static_cast<float>(squares / static_cast<double>(width));
      const float rate = lr / (std::sqrt(moment) + epsilon);
      PS_IVDEP
      for (int64_t j = 0; j < width; ++j) p[j] -= rate * g[j];
    }
  }
};

// Rule{numbers…} without its type: clang knows how for aggregates from version 17 on.
template <class T>
Sgd(T) -> Sgd<T>;
template <class T>
Momentum(T, T, bool) -> Momentum<T>;
template <class T>
Adagrad(T, T) -> Adagrad<T>;
template <class T>
DecayedAdagrad(T, T, T) -> DecayedAdagrad<T>;
template <class T>
Rmsprop(T, T, T, T) -> Rmsprop<T>;
template <class T>
CenteredRmsprop(T, T, T, T) -> CenteredRmsprop<T>;
template <class T>
Adadelta(T, T) -> Adadelta<T>;
template <class T>
Ftrl(T, T, T, T) -> Ftrl<T>;

}  // namespace paddle::optim
