// First values of rows: their distribution, and that they depend on seed, table and id alone.
#include "table/row_init.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

using namespace paddle;

namespace {

struct Moments {
  double mean = 0, deviation = 0, least = 1e9, most = -1e9;
};

Moments moments_of(const RowInit& init) {
  constexpr int64_t width = 20;
  constexpr uint64_t rows = 20000;
  double sum = 0, squares = 0;
  Moments m;
  for (uint64_t id = 0; id < rows; ++id) {
    float values[width];
    init_row(init, init_key(7, "t"), id, width, values);
    for (const double v : values) {
      sum += v;
      squares += v * v;
      m.least = std::min(m.least, v);
      m.most = std::max(m.most, v);
    }
  }
  const double n = static_cast<double>(rows) * width;
  m.mean = sum / n;
  m.deviation = std::sqrt(squares / n - m.mean * m.mean);
  return m;
}

}  // namespace

TEST_CASE("the quantile of the normal distribution", "[table]") {
  for (const double x : {-8.0, -5.0, -3.0, -1.98, -1.0, -0.1, 0.0, 0.5, 1.97, 2.5, 4.0}) {
    CAPTURE(x);
    CHECK(normal_quantile(0.5 * std::erfc(-x / std::sqrt(2.0))) == Approx(x).epsilon(2e-8));
  }
}

TEST_CASE("first values follow their distribution", "[table]") {
  SECTION("constant") {
    const Moments m = moments_of(RowInit::constant(0.25f));
    CHECK(m.least == 0.25);
    CHECK(m.most == 0.25);
  }
  SECTION("uniform") {
    const Moments m = moments_of(RowInit::uniform(-1, 3));
    CHECK(m.mean == Approx(1).margin(0.01));
    CHECK(m.deviation == Approx(4 / std::sqrt(12.0)).epsilon(0.01));
    CHECK(m.least >= -1);
    CHECK(m.least < -0.999);
    CHECK(m.most < 3);
    CHECK(m.most > 2.999);
  }
  SECTION("normal") {
    const Moments m = moments_of(RowInit::normal(2, 0.5));
    CHECK(m.mean == Approx(2).margin(0.005));
    CHECK(m.deviation == Approx(0.5).epsilon(0.01));
    CHECK(m.most > 2 + 4 * 0.5);
  }
  SECTION("truncated normal") {
    const Moments m = moments_of(RowInit::truncated_normal(0, 1));
    CHECK(m.mean == Approx(0).margin(0.01));
    CHECK(m.deviation == Approx(0.8796).epsilon(0.01));
    CHECK(m.least >= -2);
    CHECK(m.most <= 2);
  }
  SECTION("xavier") {
    CHECK(moments_of(RowInit::xavier(100, 20)).most == Approx(std::sqrt(6.0 / 120)).epsilon(0.01));
    CHECK(moments_of(RowInit::xavier(100, 20, false)).deviation ==
          Approx(std::sqrt(2.0 / 120)).epsilon(0.01));
  }
}

TEST_CASE("first values depend on seed, table and id", "[table]") {
  const RowInit init = RowInit::uniform(0, 1);
  const auto values = [&](uint64_t seed, const char* table, uint64_t id) {
    std::vector<float> out(8);
    init_row(init, init_key(seed, table), id, 8, out.data());
    return out;
  };
  const std::vector<float> first = values(1, "a", 5);
  CHECK(values(1, "a", 5) == first);
  CHECK(values(2, "a", 5) != first);
  CHECK(values(1, "b", 5) != first);
  CHECK(values(1, "a", 6) != first);
  // Part of what checkpoints and resumed jobs rely on: these numbers never change.
  CHECK(first[0] == 7114955 * 0x1p-24f);
}
