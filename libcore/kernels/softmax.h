// softmax and log_softmax along one axis. The last axis is the fast case; any other one is gathered
// column by column into rows. Outputs may be any of the inputs.
#pragma once

#include "kernels/strided.h"
#include "tensor/device.h"

namespace paddle {

// For float and double.
template <class T>
void softmax(const Device& device, Scratch& scratch, const Around& a, const T* x, T* out);
template <class T>
void log_softmax(const Device& device, Scratch& scratch, const Around& a, const T* x, T* out);
// From the result y and its gradient.
template <class T>
void softmax_grad(const Device& device, Scratch& scratch, const Around& a, const T* y, const T* dy,
                  T* dx);
template <class T>
void log_softmax_grad(const Device& device, Scratch& scratch, const Around& a, const T* y,
                      const T* dy, T* dx);

}  // namespace paddle
