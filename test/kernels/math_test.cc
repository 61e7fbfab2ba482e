#include "kernels/math.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/map.h"

namespace paddle {
namespace {

struct Exp {
  float operator()(float x) const { return paddle::exp(x); }
};
struct ExpFalling {
  float operator()(float x) const { return paddle::exp_falling(x > 0 ? 0 : x); }
};
struct Log {
  float operator()(float x) const { return paddle::log(x); }
};
struct Tanh {
  float operator()(float x) const { return paddle::tanh(x); }
};
struct Sigmoid {
  float operator()(float x) const { return paddle::sigmoid(x); }
};

constexpr float inf = std::numeric_limits<float>::infinity();
const float nan = std::numeric_limits<float>::quiet_NaN();

// The distance of `got` from the true value in units of the last place that a float near it has.
double ulps(float got, double truth) {
  if (std::isnan(truth)) return std::isnan(got) ? 0 : 1e9;
  const float nearest = static_cast<float>(truth);
  if (std::isinf(nearest) || std::isinf(got)) return got == nearest ? 0 : 1e9;
  const float a = std::abs(nearest);
  const double unit = a == 0 ? 0x1p-149 : double{std::nextafter(a, inf)} - a;
  return std::abs(double{got} - truth) / unit;
}

// Every 311th bit pattern, which reaches all exponents, both signs, denormals, infinities and NaNs:
// 14 million values.
template <class F, class Truth>
double worst(const F& f, const Truth& truth) {
  ThreadPool pool(1);
  std::vector<float> x(1 << 16), y(1 << 16);
  double most = 0;
  uint64_t bits = 0;
  while (bits < (uint64_t{1} << 32)) {
    for (float& v : x) {
      v = std::bit_cast<float>(static_cast<uint32_t>(bits));
      bits += 311;
    }
    map(pool, static_cast<int64_t>(x.size()), f, y.data(), x.data());
    for (size_t i = 0; i < x.size(); ++i) most = std::max(most, ulps(y[i], truth(double{x[i]})));
  }
  return most;
}

// Every single value of [from, to], for the neighbourhoods where formulas change.
template <class F, class Truth>
double worst_between(float from, float to, const F& f, const Truth& truth) {
  double most = 0;
  for (float x = from; x <= to; x = std::nextafter(x, inf))
    most = std::max(most, ulps(f(x), truth(double{x})));
  return most;
}

const auto true_exp = [](double x) { return std::exp(x); };
const auto true_exp_falling = [](double x) { return x < -87 ? 0 : std::exp(x > 0 ? 0 : x); };
const auto true_log = [](double x) { return std::log(x); };
const auto true_tanh = [](double x) { return std::tanh(x); };
const auto true_sigmoid = [](double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
};

}  // namespace

TEST_CASE("float functions stay within 4 ulp over the whole range") {
  CHECK(worst(Exp{}, true_exp) <= 4);
  CHECK(worst(ExpFalling{}, true_exp_falling) <= 4);
  CHECK(worst(Log{}, true_log) <= 4);
  CHECK(worst(Tanh{}, true_tanh) <= 4);
  CHECK(worst(Sigmoid{}, true_sigmoid) <= 4);
}

TEST_CASE("float functions stay within 4 ulp where formulas change") {
  CHECK(worst_between(0.34f, 0.36f, Exp{}, true_exp) <= 4);
  CHECK(worst_between(88.5f, 89.5f, Exp{}, true_exp) <= 4);
  CHECK(worst_between(-105.5f, -87.0f, Exp{}, true_exp) <= 4);
  CHECK(worst_between(0.99f, 1.01f, Log{}, true_log) <= 4);
  CHECK(worst_between(1.41f, 1.42f, Log{}, true_log) <= 4);
  CHECK(worst_between(0.7f, 0.71f, Log{}, true_log) <= 4);
  CHECK(worst_between(0.16f, 0.19f, Tanh{}, true_tanh) <= 4);
  CHECK(worst_between(8.9f, 10.1f, Tanh{}, true_tanh) <= 4);
}

TEST_CASE("float functions at their special values") {
  CHECK(paddle::exp(0.0f) == 1.0f);
  CHECK(paddle::exp(inf) == inf);
  CHECK(paddle::exp(-inf) == 0.0f);
  CHECK(std::isnan(paddle::exp(nan)));
  CHECK(paddle::exp(1e30f) == inf);
  CHECK(paddle::log(1.0f) == 0.0f);
  CHECK(paddle::log(0.0f) == -inf);
  CHECK(paddle::log(-0.0f) == -inf);
  CHECK(paddle::log(inf) == inf);
  CHECK(std::isnan(paddle::log(-1.0f)));
  CHECK(std::isnan(paddle::log(-inf)));
  CHECK(std::isnan(paddle::log(nan)));
  CHECK(paddle::tanh(inf) == 1.0f);
  CHECK(paddle::tanh(-inf) == -1.0f);
  CHECK(paddle::tanh(0.0f) == 0.0f);
  CHECK(std::signbit(paddle::tanh(-0.0f)));
  CHECK(std::isnan(paddle::tanh(nan)));
  CHECK(paddle::sigmoid(0.0f) == 0.5f);
  CHECK(paddle::sigmoid(inf) == 1.0f);
  CHECK(paddle::sigmoid(-inf) == 0.0f);
  CHECK(std::isnan(paddle::sigmoid(nan)));
}

TEST_CASE("double functions are libm's") {
  CHECK(paddle::exp(1.25) == std::exp(1.25));
  CHECK(paddle::log(1.25) == std::log(1.25));
  CHECK(paddle::tanh(1.25) == std::tanh(1.25));
  CHECK(paddle::sigmoid(-800.0) == 0.0);
  CHECK(paddle::sigmoid(1.5) == Approx(1 / (1 + std::exp(-1.5))).epsilon(1e-15));
}

}  // namespace paddle
