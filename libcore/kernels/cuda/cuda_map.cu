#include "kernels/cuda/cuda_map.h"
#include "kernels/cuda/launch.h"
#include "kernels/map.h"
#include "kernels/math.h"

namespace paddle::cuda {
namespace {

template <class T>
struct Exp {
  PS_HD T operator()(T x) const { return paddle::exp(x); }
};
template <class T>
struct Tanh {
  PS_HD T operator()(T x) const { return paddle::tanh(x); }
};
template <class T>
struct Sigmoid {
  PS_HD T operator()(T x) const { return paddle::sigmoid(x); }
};
template <class T>
struct Log {
  PS_HD T operator()(T x) const { return paddle::log(x); }
};
template <class T>
struct Constant {
  T value;
  PS_HD T operator()() const { return value; }
};

template <class T>
void map_any(Stream stream, Unary f, int64_t n, const T* in, T* out) {
  auto* s = static_cast<cudaStream_t>(stream);
  switch (f) {
    case Unary::exp: return launch_map(s, n, Exp<T>{}, out, in);
    case Unary::tanh: return launch_map(s, n, Tanh<T>{}, out, in);
    case Unary::sigmoid: return launch_map(s, n, Sigmoid<T>{}, out, in);
    case Unary::log: return launch_map(s, n, Log<T>{}, out, in);
  }
}

template <class T>
void fill_any(Stream stream, int64_t n, T value, T* out) {
  launch_map(static_cast<cudaStream_t>(stream), n, Constant<T>{value}, out);
}

}  // namespace

void map(Stream stream, Unary f, int64_t n, const float* in, float* out) {
  map_any(stream, f, n, in, out);
}
void map(Stream stream, Unary f, int64_t n, const double* in, double* out) {
  map_any(stream, f, n, in, out);
}
void fill(Stream stream, int64_t n, float value, float* out) { fill_any(stream, n, value, out); }
void fill(Stream stream, int64_t n, double value, double* out) { fill_any(stream, n, value, out); }
void fill(Stream stream, int64_t n, int64_t value, int64_t* out) {
  fill_any(stream, n, value, out);
}

}  // namespace paddle::cuda
