#include "kernels/map.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <vector>

namespace paddle {
namespace {

std::vector<float> ramp(int64_t n, float step) {
  std::vector<float> x(static_cast<size_t>(n));
  for (size_t i = 0; i < x.size(); ++i) x[i] = step * static_cast<float>(i);
  return x;
}

struct Axpy {
  float a;
  float operator()(float x, float y) const { return a * x + y; }
};

}  // namespace

TEST_CASE("map applies a functor to each element, whatever the size and the threads") {
  const int threads = GENERATE(1, 3);
  const int64_t n = GENERATE(0, 1, 7, 16384, 16385, 100003);
  ThreadPool pool(threads);
  const std::vector<float> x = ramp(n, 0.5f), y = ramp(n, -1.0f);
  std::vector<float> out(x.size() + 1, 42.0f);
  map(pool, n, Axpy{4.0f}, out.data(), x.data(), y.data());
  for (size_t i = 0; i < x.size(); ++i) REQUIRE(out[i] == static_cast<float>(i));
  CHECK(out.back() == 42.0f);
}

TEST_CASE("map works in place") {
  const int64_t n = 50001;
  ThreadPool pool(3);
  std::vector<float> x = ramp(n, 1.0f);
  const std::vector<float> y = ramp(n, 2.0f);
  map(pool, n, Axpy{3.0f}, x.data(), x.data(), y.data());
  for (size_t i = 0; i < x.size(); ++i) REQUIRE(x[i] == 5.0f * static_cast<float>(i));
  std::vector<float> z = ramp(n, 1.0f);
  map(pool, n, Axpy{3.0f}, z.data(), y.data(), z.data());
  for (size_t i = 0; i < z.size(); ++i) REQUIRE(z[i] == 7.0f * static_cast<float>(i));
}

TEST_CASE("map takes up to five inputs of different types") {
  ThreadPool pool(1);
  const std::vector<float> a{1, 2, 3};
  const std::vector<double> b{0.5, 0.25, 0.125};
  const std::vector<int64_t> c{10, 20, 30};
  const std::vector<int32_t> d{-1, -2, -3};
  const std::vector<uint8_t> e{1, 0, 1};
  std::vector<double> out(3);
  map(
      pool, 3,
      [](float p, double q, int64_t r, int32_t s, uint8_t t) {
        return p * q + static_cast<double>(r + s * t);
      },
      out.data(), a.data(), b.data(), c.data(), d.data(), e.data());
  CHECK(out == std::vector<double>{9.5, 20.5, 27.375});
}

TEST_CASE("update changes several arrays at once") {
  const int threads = GENERATE(1, 3);
  ThreadPool pool(threads);
  const int64_t n = 40007;
  std::vector<float> p(n, 1.0f), m(n, 2.0f), v(n, 3.0f);
  std::vector<float> g = ramp(n, 1.0f);
  for (float& x : g) x = std::fmod(x, 1000.0f);  // squares stay exact
  update(
      pool, n,
      [](float& param, float& first, float& second, const float& grad) {
        first = 0.5f * first + grad;
        second = second + grad * grad;
        param -= first;
      },
      p.data(), m.data(), v.data(), g.data());
  for (size_t i = 0; i < p.size(); ++i) {
    REQUIRE(m[i] == 1.0f + g[i]);
    REQUIRE(v[i] == 3.0f + g[i] * g[i]);
    REQUIRE(p[i] == -g[i]);
  }
}

}  // namespace paddle
