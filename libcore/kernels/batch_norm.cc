#include "kernels/batch_norm.h"

#include <cmath>

#include "kernels/lane_sum.h"

namespace paddle {
namespace {

// sums[c] = the sum of f(index, c) over all elements of channel c, for channels [begin, end).
template <class T, class F>
PS_INLINE void channel_sums(const Planes& p, int64_t begin, int64_t end, const F& f, double* sums) {
  for (int64_t c = begin; c < end; ++c) sums[c] = 0;
  for (int64_t n = 0; n < p.outer; ++n) {
    if (p.inner == 1) {
      const int64_t row = n * p.channels;
      for (int64_t c = begin; c < end; ++c) sums[c] += static_cast<double>(f(row + c, c));
    } else {
      for (int64_t c = begin; c < end; ++c) {
        const int64_t plane = (n * p.channels + c) * p.inner;
        sums[c] += lane_sum<T>(p.inner, [&](int64_t k) { return f(plane + k, c); });
      }
    }
  }
}

// out[index] = f(index, c) over channels [begin, end).
template <class T, class F>
PS_INLINE void channel_map(const Planes& p, int64_t begin, int64_t end, const F& f, T* out) {
  for (int64_t n = 0; n < p.outer; ++n) {
    if (p.inner == 1) {
      const int64_t row = n * p.channels;
      PS_IVDEP
      for (int64_t c = begin; c < end; ++c) out[row + c] = f(row + c, c);
    } else {
      for (int64_t c = begin; c < end; ++c) {
        const int64_t plane = (n * p.channels + c) * p.inner;
        PS_IVDEP
        for (int64_t k = 0; k < p.inner; ++k) out[plane + k] = f(plane + k, c);
      }
    }
  }
}

// Mean and variance of each channel, in two passes: the squares of deviations lose no digits.
template <class T>
PS_CLONES void batch_stats(const Planes& p, int64_t begin, int64_t end, const T* x, double* mean,
                           double* variance) {
  const auto count = static_cast<double>(p.count());
  channel_sums<T>(
      p, begin, end, [&](int64_t k, int64_t) { return x[k]; }, mean);
  for (int64_t c = begin; c < end; ++c) mean[c] /= count;
  const auto square = [&](int64_t k, int64_t c) {
    const T d = x[k] - static_cast<T>(mean[c]);
    return d * d;
  };
  channel_sums<T>(p, begin, end, square, variance);
  for (int64_t c = begin; c < end; ++c) variance[c] /= count;
}

// y = x * gain[c] + offset[c]
template <class T>
PS_CLONES void batch_apply(const Planes& p, int64_t begin, int64_t end, const T* x, const T* gain,
                           const T* offset, bool relu, T* y) {
  if (relu)
    channel_map(
        p, begin, end,
        [=](int64_t k, int64_t c) {
          const T v = x[k] * gain[c] + offset[c];
          return v > 0 ? v : T(0);
        },
        y);
  else
    channel_map(
        p, begin, end, [=](int64_t k, int64_t c) { return x[k] * gain[c] + offset[c]; }, y);
}

// The two sums that a gradient needs: of dy, and of dy times the deviation of x.
template <class T>
PS_CLONES void batch_grad_sums(const Planes& p, int64_t begin, int64_t end, const T* x, const T* dy,
                               const T* mean, double* dbias, double* dot) {
  channel_sums<T>(
      p, begin, end, [&](int64_t k, int64_t) { return dy[k]; }, dbias);
  channel_sums<T>(
      p, begin, end, [&](int64_t k, int64_t c) { return dy[k] * (x[k] - mean[c]); }, dot);
}

template <class T>
PS_CLONES void batch_grad_apply(const Planes& p, int64_t begin, int64_t end, const T* x,
                                const T* dy, const T* mean, const T* gain, const T* slope,
                                const T* shift, T* dx) {
  channel_map(
      p, begin, end,
      [=](int64_t k, int64_t c) {
        return dy[k] * gain[c] - (x[k] - mean[c]) * slope[c] - shift[c];
      },
      dx);
}

template <class T>
void put(T* to, int64_t c, double value) {
  if (to != nullptr) to[c] = static_cast<T>(value);
}

}  // namespace

template <class T>
void batch_norm(const Device& device, Scratch& scratch, const Planes& p, const BatchNorm<T>& n) {
  double* stats = scratch.get<double>(4 * p.channels);
  double *m = stats, *v = stats + p.channels;
  T* gain = reinterpret_cast<T*>(stats + 2 * p.channels);
  T* offset = gain + p.channels;
  device.pool().parallel_for(p.channels, p.grain(), [&](int64_t begin, int64_t end) {
    if (!n.global) batch_stats<T>(p, begin, end, n.x, m, v);
    for (int64_t c = begin; c < end; ++c) {
      const auto old_mean = static_cast<double>(n.mean[c]);
      const auto old_variance = static_cast<double>(n.variance[c]);
      if (n.global) m[c] = old_mean, v[c] = old_variance;
      // Global statistics stay exactly as they are.
      const double keep = n.global ? 1 : static_cast<double>(n.momentum);
      put(n.mean_out, c, old_mean * keep + m[c] * (1 - keep));
      put(n.variance_out, c, old_variance * keep + v[c] * (1 - keep));
      const double inverse = 1 / std::sqrt(v[c] + static_cast<double>(n.epsilon));
      put(n.saved_mean, c, m[c]);
      put(n.saved_inverse, c, inverse);
      const double g = static_cast<double>(n.scale[c]) * inverse;
      gain[c] = static_cast<T>(g);
      offset[c] = static_cast<T>(static_cast<double>(n.bias[c]) - m[c] * g);
    }
    batch_apply<T>(p, begin, end, n.x, gain, offset, n.relu, n.y);
  });
}

template <class T>
void batch_norm_grad(const Device& device, Scratch& scratch, const Planes& p,
                     const BatchNormGrad<T>& n) {
  double* sums = scratch.get<double>(5 * p.channels);
  double* dot = sums + p.channels;
  T* gain = reinterpret_cast<T*>(dot + p.channels);
  T *slope = gain + p.channels, *shift = slope + p.channels;
  const auto count = static_cast<double>(p.count());
  device.pool().parallel_for(p.channels, p.grain(), [&](int64_t begin, int64_t end) {
    batch_grad_sums<T>(p, begin, end, n.x, n.dy, n.saved_mean, sums, dot);
    for (int64_t c = begin; c < end; ++c) {
      const auto inv = static_cast<double>(n.saved_inverse[c]);
      const double g = static_cast<double>(n.scale[c]) * inv;
      put(n.dbias, c, sums[c]);
      put(n.dscale, c, dot[c] * inv);
      gain[c] = static_cast<T>(g);
      slope[c] = static_cast<T>(n.global ? 0 : g * inv * inv * dot[c] / count);
      shift[c] = static_cast<T>(n.global ? 0 : g * sums[c] / count);
    }
    if (n.dx != nullptr)
      batch_grad_apply<T>(p, begin, end, n.x, n.dy, n.saved_mean, gain, slope, shift, n.dx);
  });
}

template void batch_norm(const Device&, Scratch&, const Planes&, const BatchNorm<float>&);
template void batch_norm(const Device&, Scratch&, const Planes&, const BatchNorm<double>&);
template void batch_norm_grad(const Device&, Scratch&, const Planes&, const BatchNormGrad<float>&);
template void batch_norm_grad(const Device&, Scratch&, const Planes&, const BatchNormGrad<double>&);

}  // namespace paddle
