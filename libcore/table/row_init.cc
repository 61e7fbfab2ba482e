#include "table/row_init.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/random.h"

namespace paddle {
namespace {

// The logarithm of a number in (0, 1): 2^e m with m near 1, and a series in (m - 1) / (m + 1).
// Unlike libm's it is the same on every machine.
double plain_log(double x) {
  auto bits = std::bit_cast<uint64_t>(x);
  int e = static_cast<int>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0x000fffffffffffffull) | 0x3ff0000000000000ull);
  if (m > 1.4142135623730951) {
    m /= 2;
    ++e;
  }
  const double s = (m - 1) / (m + 1), z = s * s;
  double sum = 0;
  for (int k = 21; k >= 1; k -= 2) sum = sum * z + 1.0 / k;
  return 2 * s * sum + e * 0.6931471805599453;
}

template <int n>
double polynomial(const double (&c)[n], double x) {
  double y = c[0];
  for (int i = 1; i < n; ++i) y = y * x + c[i];
  return y;
}

}  // namespace

// P. J. Acklam's rational approximations; the relative error is below 1.2e-9.
double normal_quantile(double p) {
  static constexpr double a[] = {-3.969683028665376e+01, 2.209460984245205e+02,
                                 -2.759285104469687e+02, 1.383577518672690e+02,
                                 -3.066479806614716e+01, 2.506628277459239e+00};
  static constexpr double b[] = {-5.447609879822406e+01, 1.615858368580409e+02,
                                 -1.556989798598866e+02, 6.680131188771972e+01,
                                 -1.328068155288572e+01, 1};
  static constexpr double c[] = {-7.784894002430293e-03, -3.223964580411365e-01,
                                 -2.400758277161838e+00, -2.549732539343734e+00,
                                 4.374664141464968e+00,  2.938163982698783e+00};
  static constexpr double d[] = {7.784695709041462e-03, 3.224671290700398e-01,
                                 2.445134137142996e+00, 3.754408661907416e+00, 1};
  constexpr double tail = 0.02425;
  if (p < tail || p > 1 - tail) {
    const double q = std::sqrt(-2 * plain_log(std::min(p, 1 - p)));
    const double x = polynomial(c, q) / polynomial(d, q);
    return p < tail ? x : -x;
  }
  const double q = p - 0.5, r = q * q;
  return polynomial(a, r) * q / polynomial(b, r);
}

RowInit RowInit::xavier(double fan_in, double fan_out, bool uniform) {
  const double variance = 2 / (fan_in + fan_out);
  const auto limit = static_cast<float>(std::sqrt(3 * variance));
  return uniform ? RowInit::uniform(-limit, limit)
                 : normal(0, static_cast<float>(std::sqrt(variance)));
}

uint64_t init_key(uint64_t seed, std::string_view table) {
  return mix64(mix64(seed) ^ hash_text(table));
}

void init_row(const RowInit& init, uint64_t key, uint64_t id, int64_t width, float* values) {
  const RandomStream random(key, id);
  // In (0, 1): the middle of one of 2^53 parts.
  const auto part = [&](int64_t j) {
    return (static_cast<double>(random.bits(static_cast<uint64_t>(j)) >> 12) + 0.5) * 0x1p-52;
  };
  const double mean = init.a, deviation = init.b;
  switch (init.kind) {
    case RowInit::Kind::constant: std::fill_n(values, width, init.a); return;
    case RowInit::Kind::uniform:
      for (int64_t j = 0; j < width; ++j)
        values[j] = init.a + (init.b - init.a) * random.uniform(static_cast<uint64_t>(j));
      return;
    case RowInit::Kind::normal:
      for (int64_t j = 0; j < width; ++j)
        values[j] = static_cast<float>(mean + deviation * normal_quantile(part(j)));
      return;
    case RowInit::Kind::truncated_normal: {
      constexpr double low = 0.02275013194817921;  // of a normal number lies below -2 deviations
      for (int64_t j = 0; j < width; ++j) {
        const double x = normal_quantile(low + (1 - 2 * low) * part(j));
        values[j] = static_cast<float>(mean + deviation * std::clamp(x, -2.0, 2.0));
      }
      return;
    }
  }
}

}  // namespace paddle
