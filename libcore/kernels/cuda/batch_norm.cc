// kernels/batch_norm.h on a GPU. The elements of a channel are summed in parts of a fixed number,
// joined in order.
#include "kernels/batch_norm.h"

#include <cmath>

#include "kernels/cuda/launch.h"

namespace paddle {
namespace {

// Where element j of channel c is.
struct PlaneAt {
  explicit PlaneAt(const Planes& p) : channels(p.channels), inner(p.inner) {}
  PS_HD int64_t operator()(int64_t c, int64_t j) const {
    return (j / inner * channels + c) * inner + j % inner;
  }
  PS_HD int64_t channel(int64_t i) const { return i / inner % channels; }
  int64_t channels, inner;
};

struct ChannelParts {
  explicit ChannelParts(const Planes& p) : parts(p.count()), at(p) {}
  cuda::Parts parts;
  PlaneAt at;

  // The sum of f(place) over a part of a channel.
  template <class F>
  PS_HD double sum(int64_t i, const F& f) const {
    double out = 0;
    for (int64_t j = parts.begin(i % parts.count); j < parts.end(i % parts.count); ++j)
      out += static_cast<double>(f(at(i / parts.count, j)));
    return out;
  }
  // The sum of a channel's parts.
  PS_HD double join(int64_t c, const double* sums) const {
    double out = 0;
    for (int64_t part = 0; part < parts.count; ++part) out += sums[c * parts.count + part];
    return out;
  }
};

template <class T>
struct PlainSum {
  const T* x;
  PS_HD T operator()(int64_t k) const { return x[k]; }
};
template <class T>
struct SquareSum {
  const T* x;
  T mean;
  PS_HD T operator()(int64_t k) const { return (x[k] - mean) * (x[k] - mean); }
};
template <class T>
struct DotSum {
  const T *x, *dy;
  T mean;
  PS_HD T operator()(int64_t k) const { return dy[k] * (x[k] - mean); }
};

struct ChannelSum {
  ChannelParts p;
  template <class T>
  PS_HD void operator()(int64_t i, const T* x, double* sums) const {
    sums[i] = p.sum(i, PlainSum<T>{x});
  }
};
struct ChannelMean {
  ChannelParts p;
  double count;
  PS_HD void operator()(int64_t c, const double* sums, double* mean) const {
    mean[c] = p.join(c, sums) / count;
  }
};
struct ChannelSquares {
  ChannelParts p;
  template <class T>
  PS_HD void operator()(int64_t i, const T* x, const double* mean, double* sums) const {
    sums[i] = p.sum(i, SquareSum<T>{x, static_cast<T>(mean[i / p.parts.count])});
  }
};

template <class T>
PS_HD void put_value(T* to, int64_t c, double value) {
  if (to != nullptr) to[c] = static_cast<T>(value);
}

// What a channel is multiplied by and added to, and its statistics.
struct ChannelResult {
  ChannelParts p;
  double count, keep, epsilon;
  bool global;
  template <class T>
  PS_HD void operator()(int64_t c, const double* mean, const double* sums, const T* scale,
                        const T* bias, const T* old_mean, const T* old_variance, T* mean_out,
                        T* variance_out, T* saved_mean, T* saved_inverse, T* gain,
                        T* offset) const {
    const auto m_old = static_cast<double>(old_mean[c]),
               v_old = static_cast<double>(old_variance[c]);
    const double m = global ? m_old : mean[c], v = global ? v_old : p.join(c, sums) / count;
    put_value(mean_out, c, m_old * keep + m * (1 - keep));
    put_value(variance_out, c, v_old * keep + v * (1 - keep));
    const double inverse = 1 / std::sqrt(v + epsilon);
    put_value(saved_mean, c, m);
    put_value(saved_inverse, c, inverse);
    const double g = static_cast<double>(scale[c]) * inverse;
    gain[c] = static_cast<T>(g);
    offset[c] = static_cast<T>(static_cast<double>(bias[c]) - m * g);
  }
};

struct ApplyAt {
  PlaneAt at;
  bool relu;
  template <class T>
  PS_HD void operator()(int64_t i, const T* x, const T* gain, const T* offset, T* y) const {
    const int64_t c = at.channel(i);
    const T v = x[i] * gain[c] + offset[c];
    y[i] = relu && !(v > 0) ? T(0) : v;
  }
};

struct GradSums {
  ChannelParts p;
  template <class T>
  PS_HD void operator()(int64_t i, const T* x, const T* dy, const T* mean, double* sums,
                        double* dots) const {
    sums[i] = p.sum(i, PlainSum<T>{dy});
    dots[i] = p.sum(i, DotSum<T>{x, dy, mean[i / p.parts.count]});
  }
};

struct GradResult {
  ChannelParts p;
  double count;
  bool global;
  template <class T>
  PS_HD void operator()(int64_t c, const double* sums, const double* dots, const T* scale,
                        const T* inverse, T* dscale, T* dbias, T* gain, T* slope, T* shift) const {
    const double sum = p.join(c, sums), dot = p.join(c, dots);
    const auto inv = static_cast<double>(inverse[c]);
    const double g = static_cast<double>(scale[c]) * inv;
    put_value(dbias, c, sum);
    put_value(dscale, c, dot * inv);
    gain[c] = static_cast<T>(g);
    slope[c] = static_cast<T>(global ? 0 : g * inv * inv * dot / count);
    shift[c] = static_cast<T>(global ? 0 : g * sum / count);
  }
};

struct GradAt {
  PlaneAt at;
  template <class T>
  PS_HD void operator()(int64_t i, const T* x, const T* dy, const T* mean, const T* gain,
                        const T* slope, const T* shift, T* dx) const {
    const int64_t c = at.channel(i);
    dx[i] = dy[i] * gain[c] - (x[i] - mean[c]) * slope[c] - shift[c];
  }
};

template <class T>
const T* read_only(T* p) {
  return p;
}

}  // namespace

template <class T>
void batch_norm(const Device& device, Scratch& scratch, const Planes& p, const BatchNorm<T>& n) {
  const ChannelParts parts(p);
  const auto count = static_cast<double>(p.count());
  const int64_t pieces = p.channels * parts.parts.count;
  double* mean = scratch.get<double>(3 * p.channels + pieces);
  double* sums = mean + p.channels;
  T* gain = reinterpret_cast<T*>(sums + pieces);
  T* offset = gain + p.channels;
  if (!n.global) {
    cuda::launch(device, pieces, ChannelSum{parts}, n.x, sums);
    cuda::launch(device, p.channels, ChannelMean{parts, count}, read_only(sums), mean);
    cuda::launch(device, pieces, ChannelSquares{parts}, n.x, read_only(mean), sums);
  }
  // Global statistics stay exactly as they are.
  const double keep = n.global ? 1 : static_cast<double>(n.momentum);
  cuda::launch(device, p.channels,
               ChannelResult{parts, count, keep, static_cast<double>(n.epsilon), n.global},
               read_only(mean), read_only(sums), n.scale, n.bias, n.mean, n.variance, n.mean_out,
               n.variance_out, n.saved_mean, n.saved_inverse, gain, offset);
  cuda::launch(device, p.count() * p.channels, ApplyAt{PlaneAt(p), n.relu}, n.x, read_only(gain),
               read_only(offset), n.y);
}

template <class T>
void batch_norm_grad(const Device& device, Scratch& scratch, const Planes& p,
                     const BatchNormGrad<T>& n) {
  const ChannelParts parts(p);
  const int64_t pieces = p.channels * parts.parts.count;
  double* sums = scratch.get<double>(3 * p.channels + 2 * pieces);
  double* dots = sums + pieces;
  T* gain = reinterpret_cast<T*>(dots + pieces);
  T *slope = gain + p.channels, *shift = slope + p.channels;
  cuda::launch(device, pieces, GradSums{parts}, n.x, n.dy, n.saved_mean, sums, dots);
  cuda::launch(device, p.channels, GradResult{parts, static_cast<double>(p.count()), n.global},
               read_only(sums), read_only(dots), n.scale, n.saved_inverse, n.dscale, n.dbias, gain,
               slope, shift);
  if (n.dx != nullptr)
    cuda::launch(device, p.count() * p.channels, GradAt{PlaneAt(p)}, n.x, n.dy, n.saved_mean,
                 read_only(gain), read_only(slope), read_only(shift), n.dx);
}

template void batch_norm(const Device&, Scratch&, const Planes&, const BatchNorm<float>&);
template void batch_norm(const Device&, Scratch&, const Planes&, const BatchNorm<double>&);
template void batch_norm_grad(const Device&, Scratch&, const Planes&, const BatchNormGrad<float>&);
template void batch_norm_grad(const Device&, Scratch&, const Planes&, const BatchNormGrad<double>&);

}  // namespace paddle
