// exp, log, tanh and sigmoid that a compiler can vectorise: no branch, no call, no table. Within 4
// units in the last place of the true value for every float, with libm's results at 0, infinity and
// NaN. The double overloads are libm's.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/simd.h"

namespace paddle {

namespace math {

// Rounds to the nearest integer |x| < 2^22 by pushing the fraction out of the mantissa; the sum's
// low bits are it.
inline constexpr float round_magic = 0x1.8p23f;

PS_INLINE PS_HD float two_to(int32_t n) { return std::bit_cast<float>((n + 127) << 23); }

// x = n ln 2 + r with |r| <= ln 2 / 2.
struct Reduced {
  int32_t n;
  float r;
};

PS_INLINE PS_HD Reduced reduce_exp(float x) {
  const float shifted = x * 0x1.715476p+0f + round_magic;
  const float n = shifted - round_magic;
  // ln 2 in two parts; the first has so few bits that its product with n is exact.
  const float r = (x - n * 0x1.62e4p-1f) - n * 0x1.7f7d1cp-20f;
  return {std::bit_cast<int32_t>(shifted) - std::bit_cast<int32_t>(round_magic), r};
}

// exp(r) - 1 on |r| <= ln 2 / 2.
PS_INLINE PS_HD float expm1_reduced(float r) {
  float p = 0x1.a01a02p-13f;  // 1/5040: the Taylor series is within 0.3 ulp on this interval
  p = p * r + 0x1.6c16c2p-10f;
  p = p * r + 0x1.111112p-7f;
  p = p * r + 0x1.555556p-5f;
  p = p * r + 0x1.555556p-3f;
  p = p * r + 0.5f;
  return p * r * r + r;
}

}  // namespace math

PS_INLINE PS_HD float exp(float x) {
#if defined(__CUDA_ARCH__)
  return ::expf(x);
#else
  // Beyond these the result is 0 or infinity anyway; NaN passes both comparisons.
  x = x < -105.0f ? -105.0f : x;
  x = x > 89.0f ? 89.0f : x;
  const math::Reduced a = math::reduce_exp(x);
  // 2^n in two factors, as n may lie outside the exponents of normal numbers.
  const int32_t half = a.n >> 1;
  return (math::expm1_reduced(a.r) + 1.0f) * math::two_to(half) * math::two_to(a.n - half);
#endif
}

// exp of what is not above 0, and nothing where that would be below the normal numbers: one factor
// does.
PS_INLINE PS_HD float exp_falling(float x) {
#if defined(__CUDA_ARCH__)
  return ::expf(x);
#else
  const math::Reduced a = math::reduce_exp(x < -87.0f ? -87.0f : x);
  const float y = (math::expm1_reduced(a.r) + 1.0f) * math::two_to(a.n);
  return x < -87.0f ? 0.0f : y;
#endif
}

PS_INLINE PS_HD float tanh(float x) {
#if defined(__CUDA_ARCH__)
  return ::tanhf(x);
#else
  // tanh |x| = e / (e + 2), e = exp(2|x|) - 1, which keeps its relative accuracy near 0.
  float a = x < 0.0f ? -x : x;
  a = a > 10.0f ? 10.0f : a;  // tanh is 1 from 9.02 on
  const math::Reduced d = math::reduce_exp(2.0f * a);
  const float scale = math::two_to(d.n);
  const float e = scale * math::expm1_reduced(d.r) + (scale - 1.0f);
  const float t = e / (e + 2.0f);
  const int32_t sign = std::bit_cast<int32_t>(x) & INT32_MIN;
  return std::bit_cast<float>(std::bit_cast<int32_t>(t) | sign);
#endif
}

PS_INLINE PS_HD float sigmoid(float x) {
  const float e = paddle::exp(x < 0.0f ? x : -x);  // never overflows
  return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

PS_INLINE PS_HD float log(float x) {
#if defined(__CUDA_ARCH__)
  return ::logf(x);
#else
  const bool tiny = x < 0x1p-126f;
  const float scaled = tiny ? x * 0x1p24f : x;
  // x = 2^e m with m in [sqrt 1/2, sqrt 2): subtracting sqrt 1/2's bits moves the exponent's border
  // there. Without sign, as the bits of a negative number would overflow.
  const auto bits = static_cast<int32_t>(std::bit_cast<uint32_t>(scaled) - 0x3f3504f3u);
  const float e = static_cast<float>((bits >> 23) - (tiny ? 24 : 0));
  const float f = std::bit_cast<float>((bits & 0x007fffff) + 0x3f3504f3) - 1.0f;
  // log(1 + f) = f - f^2/2 + f^3 P(f); P is a weighted minimax fit, within 1e-9 of log.
  float p = 0x1.14575p-4f;
  p = p * f - 0x1.de3c18p-4f;
  p = p * f + 0x1.e6f096p-4f;
  p = p * f - 0x1.fc220ap-4f;
  p = p * f + 0x1.233766p-3f;
  p = p * f - 0x1.555c4ep-3f;
  p = p * f + 0x1.99a4b6p-3f;
  p = p * f - 0x1.000006p-2f;
  p = p * f + 0x1.555548p-2f;
  const float z = f * f;
  float y = p * f * z + e * -2.12194440e-4f - 0.5f * z + f + e * 0.693359375f;
  const float inf = std::bit_cast<float>(0x7f800000);
  y = x < inf ? y : x;                                  // inf and NaN
  y = x < 0.0f ? std::bit_cast<float>(0x7fc00000) : y;  // NaN
  return x == 0.0f ? -inf : y;
#endif
}

PS_INLINE PS_HD double exp(double x) { return std::exp(x); }
PS_INLINE PS_HD double exp_falling(double x) { return std::exp(x); }
PS_INLINE PS_HD double tanh(double x) { return std::tanh(x); }
PS_INLINE PS_HD double log(double x) { return std::log(x); }
PS_INLINE PS_HD double sigmoid(double x) {
  const double e = std::exp(x < 0 ? x : -x);
  return (x < 0 ? e : 1.0) / (1.0 + e);
}

}  // namespace paddle
