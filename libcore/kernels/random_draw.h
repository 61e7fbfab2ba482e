// Fluid's random numbers, which are drawn one after the other and so on the host.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <random>

namespace paddle::drawing {

// The value below which a standard normal number lies with probability p, 0 < p < 1. Newton's
// method on the distribution function; from 0 it converges for |x| < 3, where we use it.
inline double normal_quantile(double p) {
  constexpr double density_at_0 = 0.3989422804014327;
  double x = 0;
  for (int k = 0; k < 50; ++k) {
    const double error = 0.5 * std::erfc(-x / std::numbers::sqrt2) - p;
    const double step = error / (density_at_0 * std::exp(-0.5 * x * x));
    x -= std::clamp(step, -0.5, 0.5);
    if (std::abs(step) < 1e-12) break;
  }
  return x;
}

template <class Distribution, class T>
void draw(int64_t n, uint32_t seed, T a, T b, T* out) {
  std::minstd_rand engine(seed);
  Distribution distribution(a, b);
  for (int64_t k = 0; k < n; ++k) out[k] = distribution(engine);
}

// The inverse transform of uniform numbers.
template <class T>
void truncated(int64_t n, uint32_t seed, double mean, double deviation, T* out) {
  std::minstd_rand engine(seed);
  std::uniform_real_distribution<T> uniform(std::numeric_limits<float>::min(), 1);
  const double low = 0.5 * std::erfc(std::numbers::sqrt2), high = 1 - low;  // at -2 and at 2
  for (int64_t k = 0; k < n; ++k) {
    const double u = low + (high - low) * static_cast<double>(uniform(engine));
    out[k] = static_cast<T>(mean + deviation * std::clamp(normal_quantile(u), -2.0, 2.0));
  }
}

}  // namespace paddle::drawing
