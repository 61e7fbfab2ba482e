// A fully connected layer: product, bias and activation in one pass, and what its gradient needs
// besides products. For float and double.
#pragma once

#include <cstdint>

#include "tensor/device.h"

namespace paddle {

enum class Act { none, relu, tanh, sigmoid };

// out = act(x * w + bias) for x [m, k], w [k, n] and bias [n].
template <class T>
void fc(const Device& device, int64_t m, int64_t n, int64_t k, const T* x, const T* w,
        const T* bias, Act act, T* out);

// dz = dy * act'(z), where y = act(z), and its column sums, which are the gradient of the bias. Not
// for Act::none: there dz is dy.
template <class T>
void fc_act_grad(const Device& device, Act act, int64_t m, int64_t n, const T* y, const T* dy,
                 T* dz, T* sums);

// bias -= *rate * grad
template <class T>
void fc_bias_update(const Device& device, int64_t n, const T* rate, const T* grad, T* bias);

// w [k, n] -= *rate * transposed x [m, k] * dz [m, n]. `scratch` has fc_update_scratch(k, n)
// elements.
template <class T>
void fc_weight_update(const Device& device, int64_t m, int64_t n, int64_t k, const T* rate,
                      const T* x, const T* dz, T* scratch, T* w);
int64_t fc_update_scratch(int64_t k, int64_t n);

}  // namespace paddle
