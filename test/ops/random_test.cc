#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>

#include "support/op_check.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {

struct Moments {
  double mean = 0, std = 0, low = 1e30, high = -1e30;
};

Moments moments(const Tensor& t) {
  Moments m;
  const std::vector<double> v = values_of(t);
  for (const double x : v) {
    m.mean += x / static_cast<double>(v.size());
    m.low = x < m.low ? x : m.low;
    m.high = x > m.high ? x : m.high;
  }
  for (const double x : v) m.std += (x - m.mean) * (x - m.mean) / static_cast<double>(v.size());
  m.std = std::sqrt(m.std);
  return m;
}

int number(DType t) { return static_cast<int>(t); }

}  // namespace

TEST_CASE("truncated_gaussian_random", "[ops]") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const OpCase c{"truncated_gaussian_random",
                   {},
                   {{"shape", Longs{100, 201}},
                    {"mean", 0.5f},
                    {"std", 2.0f},
                    {"seed", 3},
                    {"dtype", number(dtype)}}};
    const Tensor got = run_op(c).at("Out")[0];
    CHECK(got.shape() == Shape{100, 201});
    CHECK(got.dtype() == dtype);
    const Moments m = moments(got);
    CHECK(m.low >= 0.5 - 4);
    CHECK(m.high <= 0.5 + 4);
    CHECK(m.high > 0.5 + 3.9);  // the tails are there
    CHECK(m.mean == Approx(0.5).margin(0.06));
    CHECK(m.std == Approx(2 * 0.8796).margin(0.05));  // of a normal cut at two deviations
    CHECK(values_of(run_op(c).at("Out")[0]) == values_of(got));
  }
  SECTION("inverts the distribution function of the engine's numbers") {
    const OpCase c{"truncated_gaussian_random",
                   {},
                   {{"shape", Longs{500}}, {"seed", 9}, {"dtype", number(DType::f64)}}};
    std::minstd_rand engine(9);
    std::uniform_real_distribution<double> uniform(std::numeric_limits<float>::min(), 1);
    const auto cdf = [](double x) { return 0.5 * (1 + std::erf(x / std::sqrt(2.0))); };
    for (const double x : values_of(run_op(c).at("Out")[0])) {
      const double u = (cdf(x) - cdf(-2)) / (cdf(2) - cdf(-2));
      CHECK(std::abs(u - uniform(engine)) < 1e-9);
    }
  }
  SECTION("the program's seed where the op has none") {
    const OpCase c{"truncated_gaussian_random", {}, {{"shape", Longs{4}}}};
    OpCase seeded = c;
    seeded.attrs.set("seed", 7);  // as the test program's
    CHECK(values_of(run_op(c).at("Out")[0]) == values_of(run_op(seeded).at("Out")[0]));
  }
}

TEST_CASE("random values of a batch's size", "[ops]") {
  const Tensor input = random_tensor(DType::i64, {90, 3}, 1);
  for (const DType dtype : {DType::f32, DType::f64}) {
    const OpCase uniform{"uniform_random_batch_size_like",
                         {{"Input", {input}}},
                         {{"shape", Longs{-1, 200}},
                          {"min", 2.0f},
                          {"max", 4.0f},
                          {"seed", 5},
                          {"dtype", number(dtype)}}};
    const Tensor u = run_op(uniform).at("Out")[0];
    CHECK(u.shape() == Shape{90, 200});
    const Moments m = moments(u);
    CHECK(m.low >= 2);
    CHECK(m.high <= 4);
    CHECK(m.mean == Approx(3).margin(0.03));
    CHECK(m.std == Approx(2 / std::sqrt(12.0)).margin(0.03));

    const OpCase gaussian{"gaussian_random_batch_size_like",
                          {{"Input", {input}}},
                          {{"shape", Longs{200, -1}},
                           {"output_dim_idx", 1},
                           {"mean", 1.0f},
                           {"std", 3.0f},
                           {"seed", 5},
                           {"dtype", number(dtype)}}};
    const Tensor g = run_op(gaussian).at("Out")[0];
    CHECK(g.shape() == Shape{200, 90});
    CHECK(moments(g).mean == Approx(1).margin(0.15));
    CHECK(moments(g).std == Approx(3).margin(0.15));
  }
  CHECK_THROWS_WITH(
      run_op({"uniform_random_batch_size_like",
              {{"Input", {input}}},
              {{"shape", Longs{1}}, {"input_dim_idx", 2}}}),
      Contains("uniform_random_batch_size_like") && Contains("Input (Input_0) [90, 3]"));
  CHECK_THROWS_WITH(run_op({"gaussian_random_batch_size_like",
                            {{"Input", {input}}},
                            {{"shape", Longs{1}}, {"output_dim_idx", 1}}}),
                    Contains("output_dim_idx 1") && Contains("[1]"));
}
