// The data generator that all programs of a comparison share, bit for bit.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/random.h"
#include "tensor/tensor.h"

namespace paddle::bench {

struct Stream {
  uint64_t key;
  explicit Stream(uint64_t stream) : key(mix64((uint64_t{1} << 32) | stream)) {}
  uint64_t operator()(int64_t i) const { return mix64(key + static_cast<uint64_t>(i) * golden); }
};

inline Tensor uniform(uint64_t stream, const Shape& shape, double low, double high) {
  Tensor t(DType::f32, shape);
  const Stream r(stream);
  const auto a = static_cast<float>(low), d = static_cast<float>(high - low);
  for (int64_t i = 0; i < t.numel(); ++i)
    t.data<float>()[i] = a + d * (static_cast<float>(r(i) >> 40) * 0x1p-24f);
  return t;
}

inline Tensor xavier(uint64_t stream, int64_t in, int64_t out) {
  const double a = std::sqrt(6.0 / static_cast<double>(in + out));
  return uniform(stream, {in, out}, -a, a);
}

inline Tensor integers(uint64_t stream, const Shape& shape, uint64_t below) {
  Tensor t(DType::i64, shape);
  const Stream r(stream);
  for (int64_t i = 0; i < t.numel(); ++i) t.data<int64_t>()[i] = static_cast<int64_t>(r(i) % below);
  return t;
}

inline Tensor zipf_ids(uint64_t stream, int64_t samples, int64_t slots, uint64_t height) {
  Tensor t(DType::i64, {samples, slots, 1});
  const Stream r(stream);
  const double e = 1 - 1.05, n = 1e6;
  for (int64_t i = 0; i < t.numel(); ++i) {
    const double u = static_cast<double>(r(i) >> 11) * 0x1p-53;
    const double rank =
        std::clamp(std::floor(std::pow(1 + u * (std::pow(n, e) - 1), 1 / e)), 1.0, n);
    t.data<int64_t>()[i] = static_cast<int64_t>(
        mix64((static_cast<uint64_t>(i % slots) << 32) + static_cast<uint64_t>(rank)) % height);
  }
  return t;
}

// W1: 40000 samples of y = x w + 0.5 + noise, x 13 wide.
struct Line {
  Tensor x = uniform(1, {40000, 13}, -1, 1), y{DType::f32, {40000, 1}};

  Line() {
    const Tensor truth = uniform(2, {13}, -2, 2), noise = uniform(3, {40000}, -.1, .1);
    for (int64_t i = 0; i < 40000; ++i) {
      float s = 0;
      for (int j = 0; j < 13; ++j) s += x.data<float>()[i * 13 + j] * truth.data<float>()[j];
      y.data<float>()[i] = s + .5f + noise.data<float>()[i];
    }
  }
  // Mean squared error over all samples.
  double error(const float* w, float b) const {
    double s = 0;
    for (int64_t i = 0; i < 40000; ++i) {
      float d = b - y.data<float>()[i];
      for (int j = 0; j < 13; ++j) d += x.data<float>()[i * 13 + j] * w[j];
      s += d * d;
    }
    return s / 40000;
  }
};

// W4 and W5: 100000 samples of 13 numbers and 26 ids, and a label that follows from them.
struct Clicks {
  static constexpr int64_t samples = 100000, height = 1000001;
  Tensor dense = uniform(31, {samples, 13}, 0, 1), ids = zipf_ids(32, samples, 26, height);
  Tensor y{DType::i64, {samples, 1}};

  Clicks() {
    for (int64_t i = 0; i < samples; ++i) {
      float s = 0;
      for (int k = 0; k < 26; ++k) {
        const auto id = static_cast<uint64_t>(ids.data<int64_t>()[i * 26 + k]);
        s += static_cast<float>(mix64(id) >> 40) * 0x1p-24f - .5f;
      }
      y.data<int64_t>()[i] = s + 2 * (dense.data<float>()[i * 13] - .5f) > 0.3f;
    }
  }
};

inline double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace paddle::bench
