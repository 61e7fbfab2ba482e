// batch_norm: every channel brought to mean 0 and variance 1 over the batch.
#include <algorithm>
#include <cmath>

#include "ops/common.h"
#include "ops/lane_sum.h"

namespace paddle {
namespace {

// X as [outer, channels, inner]; NHWC and matrices have inner 1.
struct Planes {
  Planes(const Shape& x, bool channels_last) {
    const int at = channels_last ? x.rank() - 1 : 1;
    outer = x.product(0, at);
    channels = x[at];
    inner = x.product(at + 1, x.rank());
  }
  int64_t count() const { return outer * inner; }
  int64_t grain() const { return std::max<int64_t>(1, 16384 / std::max<int64_t>(1, count())); }
  int64_t outer, channels, inner;
};

bool channels_last(const Attrs& attrs) { return attrs.get<std::string>("data_layout") == "NHWC"; }

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

void check_batch_norm(const Infer& i) {
  const Shape& x = i.shape("X");
  const auto layout = i.attr<std::string>("data_layout");
  i.check(layout == "NCHW" || layout == "NHWC" || layout == "AnyLayout",
          "the attribute 'data_layout' is '", layout, "'; it can be NCHW or NHWC");
  i.check(x.rank() >= 2 && x.rank() <= 5, "needs X of 2 to 5 dimensions, found ", i.tell("X"));
  const int64_t channels = x[channels_last(i.op().attrs) ? x.rank() - 1 : 1];
  for (const char* slot : {"Scale", "Bias", "Mean", "Variance", "SavedMean", "SavedVariance"}) {
    if (!i.has(slot)) continue;
    i.check(i.shape(slot).compatible({channels}), i.tell(slot),
            " must have one value for each channel of ", i.tell("X"), ", layout ", layout);
    i.check(i.dtype(slot) == i.dtype("X"), slot, " is ", name_of(i.dtype(slot)), " and X ",
            name_of(i.dtype("X")), ": they must be of one type");
  }
}

void infer_batch_norm(Infer& i) {
  check_batch_norm(i);
  i.out_like("Y", "X");
  for (const char* slot : {"MeanOut", "VarianceOut", "SavedMean", "SavedVariance"})
    i.out(slot, i.shape("Scale"), i.dtype("X"));
}

void infer_batch_norm_grad(Infer& i) {
  check_batch_norm(i);
  i.check_same("X", "Y@GRAD");
  i.check(!i.attr<bool>("fuse_with_relu"),
          "fuse_with_relu is for inference; train with a relu op instead");
  i.out_like("X@GRAD", "X");
  i.out("Scale@GRAD", i.shape("Scale"), i.dtype("X"));
  i.out("Bias@GRAD", i.shape("Scale"), i.dtype("X"));
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

struct BatchNorm {
  explicit BatchNorm(const Bind& b)
      : x(b.in("X")),
        scale(b.in("Scale")),
        bias(b.in("Bias")),
        mean(b.in("Mean")),
        variance(b.in("Variance")),
        y(b.out("Y")),
        mean_out(b.out("MeanOut")),
        variance_out(b.out("VarianceOut")),
        saved_mean(b.out("SavedMean")),
        saved_variance(b.out("SavedVariance")),
        momentum(b.attr<float>("momentum")),
        epsilon(b.attr<float>("epsilon")),
        global(b.attr<bool>("is_test") || b.attr<bool>("use_global_stats")),
        relu(b.attr<bool>("fuse_with_relu")),
        last(channels_last(b.op().attrs)) {}

  template <class T>
  void run(const Run& r) const;

  Arg x, scale, bias, mean, variance, y, mean_out, variance_out, saved_mean, saved_variance;
  float momentum, epsilon;
  bool global, relu, last;
};

template <class T>
void BatchNorm::run(const Run& r) const {
  const Planes p(r[x].shape, last);
  double* stats = r.scratch.get<double>(4 * p.channels);
  double *m = stats, *v = stats + p.channels;
  T* gain = reinterpret_cast<T*>(stats + 2 * p.channels);
  T* offset = gain + p.channels;
  const auto put = [&](Arg a, int64_t c, double value) {
    if (a) r[a].as<T>()[c] = static_cast<T>(value);
  };
  r.pool.parallel_for(p.channels, p.grain(), [&](int64_t begin, int64_t end) {
    if (!global) batch_stats<T>(p, begin, end, r[x].as<const T>(), m, v);
    for (int64_t c = begin; c < end; ++c) {
      const auto old_mean = static_cast<double>(r[mean].as<const T>()[c]);
      const auto old_variance = static_cast<double>(r[variance].as<const T>()[c]);
      if (global) m[c] = old_mean, v[c] = old_variance;
      // Global statistics stay exactly as they are.
      const double keep = global ? 1 : static_cast<double>(momentum);
      put(mean_out, c, old_mean * keep + m[c] * (1 - keep));
      put(variance_out, c, old_variance * keep + v[c] * (1 - keep));
      const double inverse = 1 / std::sqrt(v[c] + static_cast<double>(epsilon));
      put(saved_mean, c, m[c]);
      put(saved_variance, c, inverse);
      const double g = static_cast<double>(r[scale].as<const T>()[c]) * inverse;
      gain[c] = static_cast<T>(g);
      offset[c] = static_cast<T>(static_cast<double>(r[bias].as<const T>()[c]) - m[c] * g);
    }
    batch_apply<T>(p, begin, end, r[x].as<const T>(), gain, offset, relu, r[y].as<T>());
  });
}

Kernel bind_batch_norm(const Bind& b) {
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    return [op = BatchNorm(b)](const Run& r) { op.run<decltype(t)>(r); };
  });
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

Kernel bind_batch_norm_grad(const Bind& b) {
  const Arg x = b.in("X"), scale = b.in("Scale"), mean = b.in("SavedMean"),
            inverse = b.in("SavedVariance"), dy = b.in("Y@GRAD"), dx = b.out("X@GRAD"),
            dscale = b.out("Scale@GRAD"), dbias = b.out("Bias@GRAD");
  const bool global = b.attr<bool>("is_test") || b.attr<bool>("use_global_stats");
  const bool last = channels_last(b.op().attrs);
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const Planes p(r[x].shape, last);
      double* sums = r.scratch.get<double>(5 * p.channels);
      double* dot = sums + p.channels;
      T* gain = reinterpret_cast<T*>(dot + p.channels);
      T *slope = gain + p.channels, *shift = slope + p.channels;
      const T *px = r[x].as<const T>(), *pdy = r[dy].as<const T>(), *pm = r[mean].as<const T>();
      const auto count = static_cast<double>(p.count());
      r.pool.parallel_for(p.channels, p.grain(), [&](int64_t begin, int64_t end) {
        batch_grad_sums<T>(p, begin, end, px, pdy, pm, sums, dot);
        for (int64_t c = begin; c < end; ++c) {
          const auto inv = static_cast<double>(r[inverse].as<const T>()[c]);
          const double g = static_cast<double>(r[scale].as<const T>()[c]) * inv;
          if (dbias) r[dbias].as<T>()[c] = static_cast<T>(sums[c]);
          if (dscale) r[dscale].as<T>()[c] = static_cast<T>(dot[c] * inv);
          gain[c] = static_cast<T>(g);
          slope[c] = static_cast<T>(global ? 0 : g * inv * inv * dot[c] / count);
          shift[c] = static_cast<T>(global ? 0 : g * sums[c] / count);
        }
        if (dx) batch_grad_apply<T>(p, begin, end, px, pdy, pm, gain, slope, shift, r[dx].as<T>());
      });
    };
  });
}

void add_batch_norm(std::vector<OpDef>& defs) {
  const Attrs attrs{{"momentum", 0.9f},      {"epsilon", 1e-5f},
                    {"is_test", false},      {"use_global_stats", false},
                    {"data_layout", "NCHW"}, {"fuse_with_relu", false},
                    {"use_mkldnn", false},   {"trainable_statistics", false}};
  defs.push_back({.type = "batch_norm",
                  .in = {{"X"}, {"Scale"}, {"Bias"}, {"Mean"}, {"Variance"}},
                  .out = {{"Y"},
                          {"MeanOut", SlotDef::optional},
                          {"VarianceOut", SlotDef::optional},
                          {"SavedMean", SlotDef::intermediate},
                          {"SavedVariance", SlotDef::intermediate}},
                  .attrs = attrs,
                  .infer = infer_batch_norm,
                  .bind = bind_batch_norm,
                  .grad = {"batch_norm_grad",
                           {"X", "Scale", "SavedMean", "SavedVariance", "Y@GRAD"},
                           {"X@GRAD", "Scale@GRAD", "Bias@GRAD"}}});
  defs.push_back({.type = "batch_norm_grad",
                  .in = {{"X"}, {"Scale"}, {"SavedMean"}, {"SavedVariance"}, {"Y@GRAD"}},
                  .out = {{"X@GRAD", SlotDef::optional},
                          {"Scale@GRAD", SlotDef::optional},
                          {"Bias@GRAD", SlotDef::optional}},
                  .attrs = attrs,
                  .infer = infer_batch_norm_grad,
                  .bind = bind_batch_norm_grad});
}

}  // namespace

std::vector<OpDef> batch_norm_ops() {
  std::vector<OpDef> defs;
  add_batch_norm(defs);
  return defs;
}

}  // namespace paddle
