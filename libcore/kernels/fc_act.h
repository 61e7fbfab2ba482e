// The activations of kernels/fc.h: the value, and the slope in terms of the value.
#pragma once

#include "kernels/math.h"
#include "kernels/simd.h"

namespace paddle::fc_act {

struct None {
  template <class T>
  PS_HD static T value(T x) {
    return x;
  }
  template <class T>
  PS_HD static T slope(T) {
    return T(1);
  }
};
struct Relu {
  template <class T>
  PS_HD static T value(T x) {
    return x > 0 ? x : T(0);
  }
  template <class T>
  PS_HD static T slope(T y) {
    return y > 0 ? T(1) : T(0);
  }
};
struct Tanh {
  template <class T>
  PS_INLINE PS_HD static T value(T x) {
    return paddle::tanh(x);
  }
  template <class T>
  PS_HD static T slope(T y) {
    return 1 - y * y;
  }
};
struct Sigmoid {
  template <class T>
  PS_INLINE PS_HD static T value(T x) {
    return paddle::sigmoid(x);
  }
  template <class T>
  PS_HD static T slope(T y) {
    return y * (1 - y);
  }
};

}  // namespace paddle::fc_act
