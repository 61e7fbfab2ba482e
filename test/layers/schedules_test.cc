// Learning rates over 20 steps, run through an executor, against closed forms in double.
#include "layers/schedules.h"

#include <cmath>
#include <functional>
#include <numbers>

#include "layers/support.h"

using namespace paddle;
using namespace paddle::test;

namespace {

// The largest relative difference over 20 steps.
double error_of(const std::function<std::string(const Builder&)>& make,
                const std::function<double(double step)>& expected) {
  NetCase c;
  const std::string rate = make(c.b);
  c.start();
  double worst = 0;
  for (int step = 0; step < 20; ++step) {
    const double got = values_of(c.run({}, {rate})[0]).at(0), want = expected(step);
    worst = std::max(worst, std::abs(got - want) / std::max(std::abs(want), 1e-3));
  }
  return worst;
}

}  // namespace

TEST_CASE("schedules follow their formulas", "[layers]") {
  const double tolerance = 2e-6;
  for (const bool stairs : {false, true}) {
    const auto t = [=](double s) { return stairs ? std::floor(s / 5) : s / 5; };
    CHECK(error_of([=](const Builder& b) { return exponential_decay(b, 1, 5, 0.5f, stairs); },
                   [=](double s) { return std::pow(0.5, t(s)); }) < tolerance);
    CHECK(error_of([=](const Builder& b) { return natural_exp_decay(b, 1, 5, 0.5f, stairs); },
                   [=](double s) { return std::exp(-0.5 * t(s)); }) < tolerance);
    CHECK(error_of([=](const Builder& b) { return inverse_time_decay(b, 1, 5, 0.5f, stairs); },
                   [=](double s) { return 1 / (1 + 0.5 * t(s)); }) < tolerance);
  }
  CHECK(error_of([](const Builder& b) { return polynomial_decay(b, 1, 5); },
                 [](double s) { return (1 - 1e-4) * (1 - std::min(s, 5.0) / 5) + 1e-4; }) <
        tolerance);
  CHECK(error_of(
            [](const Builder& b) {
              return polynomial_decay(b, 1, 5,
                                      {.end_learning_rate = 0.1f, .power = 2, .cycle = true});
            },
            [](double s) {
              const double period = 5 * std::max(1.0, std::ceil(s / 5));
              return 0.9 * std::pow(1 - s / period, 2) + 0.1;
            }) < tolerance);
  CHECK(error_of([](const Builder& b) { return noam_decay(b, 64, 8); },
                 [](double s) {
                   const double n = s + 1;  // this counter begins at 1
                   return std::pow(64, -0.5) * std::min(std::pow(n, -0.5), n * std::pow(8, -1.5));
                 }) < tolerance);
  CHECK(error_of([](const Builder& b) { return cosine_decay(b, 0.1f, 3, 10); },
                 [](double s) {
                   return 0.05 * (std::cos(std::floor(s / 3) * std::numbers::pi / 10) + 1);
                 }) < tolerance);
}

TEST_CASE("piecewise values come through exactly", "[layers]") {
  const std::vector<float> values = {0.1f, 0.013f, 0.0007f};
  CHECK(error_of(
            [&](const Builder& b) {
              return piecewise_decay(b, {4, 11}, values);
            },
            [&](double s) -> double {
              return s < 4 ? values[0] : s < 11 ? values[1] : values[2];
            }) == 0);
  NetCase c;
  CHECK_THROWS_WITH(piecewise_decay(c.b, {4, 11}, {0.1f}),
                    Catch::Matchers::Contains("2 boundaries needs 3 values, found 1"));
  CHECK_THROWS_WITH(piecewise_decay(c.b, {4, 4}, values),
                    Catch::Matchers::Contains("the boundaries must rise"));
}

TEST_CASE("warmup rises and hands over", "[layers]") {
  CHECK(error_of([](const Builder& b) { return linear_lr_warmup(b, 0.5, 8, 0.1f, 0.9f); },
                 [](double s) { return s < 8 ? 0.1 + 0.8 * s / 8 : 0.5; }) < 1e-6);
  CHECK(error_of(
            [](const Builder& b) {
              return linear_lr_warmup(b, exponential_decay(b, 1, 5, 0.5f), 8, 0, 1);
            },
            [](double s) { return s < 8 ? s / 8 : std::pow(0.5, s / 5); }) < 2e-6);
}

TEST_CASE("schedules share one counter", "[layers]") {
  NetCase c;
  exponential_decay(c.b, 1, 5, 0.5f);
  cosine_decay(c.b, 1, 5, 10);
  Names types = op_types(c.net.main);
  CHECK(std::count(types.begin(), types.end(), "increment") == 1);
  c.start();
  c.run({}, {});
  c.run({}, {});
  CHECK(c.values(lr_counter_name) == std::vector<double>{1});
}
