// Losses of class labels, and their gradients: cross entropy of probabilities, and of logits (with
// the softmax in it). All for float and double.
#pragma once

#include <cstdint>

#include "kernels/strided.h"
#include "tensor/device.h"

namespace paddle {

// One class for each row; rows labelled `ignore` have no loss and no gradient.
struct ClassLabels {
  const int64_t* at;
  int64_t ignore;
  PS_HD bool ignored(int64_t row) const { return at[row] == ignore; }
};

// The first row whose label is neither in [0, classes) nor ignored; -1 if there is none. The calls
// below do not look.
int64_t first_bad_label(const Device& device, const ClassLabels& labels, int64_t rows,
                        int64_t classes);

// p is [rows, classes]. loss[row] = -log p[row, label]; `match`, where wanted, keeps p[row, label].
template <class T>
void cross_entropy(const Device& device, int64_t rows, int64_t classes, const T* p,
                   const ClassLabels& labels, T* loss, T* match);
// dp is 0 but at the label, where it is -dloss / p. p is [rows, classes], or [rows] where
// `matched`.
template <class T>
void cross_entropy_grad(const Device& device, int64_t rows, int64_t classes, const T* p,
                        bool matched, const ClassLabels& labels, const T* dloss, T* dp);

// The same with a weight for each class of each row.
template <class T>
void soft_cross_entropy(const Device& device, int64_t rows, int64_t classes, const T* p,
                        const T* weights, T* loss);
template <class T>
void soft_cross_entropy_grad(const Device& device, int64_t rows, int64_t classes, const T* p,
                             const T* weights, const T* dloss, T* dp);

// Of logits x along the axis of `a`: the softmax, which may lie in x, and the loss of each column.
template <class T>
void softmax_loss(const Device& device, const Around& a, const T* x, const ClassLabels& labels,
                  T* softmax, T* loss);
template <class T>
void softmax_loss(const Device& device, const Around& a, const T* x, const T* weights, T* softmax,
                  T* loss);
// From the softmax; dx may lie in it.
template <class T>
void softmax_loss_grad(const Device& device, const Around& a, const T* softmax,
                       const ClassLabels& labels, const T* dloss, T* dx);
template <class T>
void softmax_loss_grad(const Device& device, const Around& a, const T* softmax, const T* weights,
                       const T* dloss, T* dx);

}  // namespace paddle
