#include "base/thread_pool.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <stdexcept>
#include <vector>

using namespace paddle;

TEST_CASE("thread pool", "[base][threads]") {
  const int threads = GENERATE(1, 2, 5);
  ThreadPool pool(threads);

  SECTION("covers every index exactly once, again and again") {
    for (int64_t n : {0, 1, 7, 1000}) {
      std::vector<std::atomic<int>> seen(static_cast<size_t>(n));
      pool.parallel_for(n, 1, [&](int64_t b, int64_t e) {
        for (int64_t i = b; i < e; ++i) ++seen[static_cast<size_t>(i)];
      });
      for (const auto& s : seen) CHECK(s == 1);
    }
  }
  SECTION("hands on the exception of a part, and works afterwards") {
    CHECK_THROWS_AS(
        pool.parallel_for(100, 1, [](int64_t, int64_t) { throw std::runtime_error("x"); }),
        std::runtime_error);
    std::atomic<int64_t> sum = 0;
    pool.parallel_for(100, 1, [&](int64_t b, int64_t e) { sum += e - b; });
    CHECK(sum == 100);
  }
}
