#include "kernels/reduce.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "base/random.h"

namespace paddle {
namespace {

template <class T>
std::vector<T> noise(int64_t n, uint64_t stream) {
  const RandomStream random(7, stream);
  std::vector<T> x(static_cast<size_t>(n));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(random.uniform_double(i) * 2 - 1);
  return x;
}

template <class T>
double tolerance(int64_t n) {
  return std::numeric_limits<T>::epsilon() * (8 + std::sqrt(static_cast<double>(n)));
}

}  // namespace

TEMPLATE_TEST_CASE("sums agree with naive loops", "", float, double) {
  const int64_t n = GENERATE(0, 1, 3, 63, 64, 65, 1000, 16385, 100003, 5000011);
  ThreadPool one(1), three(3);
  const auto x = noise<TestType>(n, 1);
  double s = 0, q = 0, size = 1;
  for (const TestType v : x) {
    s += v;
    q += double{v} * v;
    size = std::max(size, std::abs(s));
  }
  TestType found = 9, squares = 9, found3 = 9, squares3 = 9;
  sum(one, n, x.data(), &found);
  sum(three, n, x.data(), &found3);
  sum_squares(one, n, x.data(), &squares);
  sum_squares(three, n, x.data(), &squares3);
  CHECK(std::abs(found - s) <= tolerance<TestType>(n) * size * 4);
  CHECK(std::abs(squares - q) <= tolerance<TestType>(n) * (q + 1));
  // The number of threads changes no bit.
  CHECK(found == found3);
  CHECK(squares == squares3);
}

TEMPLATE_TEST_CASE("any_not_finite finds one bad value anywhere", "", float, double) {
  using Limits = std::numeric_limits<TestType>;
  const int64_t n = GENERATE(1, 100, 16384, 200001);
  ThreadPool pool(3);
  auto x = noise<TestType>(n, 3);
  x[0] = Limits::max();
  CHECK_FALSE(any_not_finite(pool, 0, x.data()));
  CHECK_FALSE(any_not_finite(pool, n, x.data()));
  for (const TestType bad : {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity()}) {
    for (const int64_t at : {int64_t{0}, n / 2, n - 1}) {
      const TestType kept = std::exchange(x[static_cast<size_t>(at)], bad);
      CHECK(any_not_finite(pool, n, x.data()));
      x[static_cast<size_t>(at)] = kept;
    }
  }
}

TEMPLATE_TEST_CASE("column sums and row sums", "", float, double) {
  const int64_t m = GENERATE(0, 1, 5, 300), n = GENERATE(1, 2, 10, 64, 77, 400);
  const int threads = GENERATE(1, 3);
  ThreadPool pool(threads);
  const auto x = noise<TestType>(m * n, 4);
  std::vector<double> columns(static_cast<size_t>(n)), rows(static_cast<size_t>(m));
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      const TestType v = x[static_cast<size_t>(i * n + j)];
      columns[static_cast<size_t>(j)] += v;
      rows[static_cast<size_t>(i)] += v;
    }
  }
  const double margin = tolerance<TestType>(m + n) * 40;
  std::vector<TestType> out(columns.size(), 9), added(columns.size(), 100);
  column_sums(pool, m, n, x.data(), out.data(), false);
  column_sums(pool, m, n, x.data(), added.data(), true);
  for (size_t j = 0; j < out.size(); ++j) {
    REQUIRE(std::abs(out[j] - columns[j]) <= margin);
    REQUIRE(std::abs(added[j] - 100 - columns[j]) <= 100 * margin);
  }
  std::vector<TestType> row(rows.size(), 9);
  row_sums(pool, m, n, x.data(), row.data());
  for (size_t i = 0; i < row.size(); ++i) REQUIRE(std::abs(row[i] - rows[i]) <= margin);
}

}  // namespace paddle
