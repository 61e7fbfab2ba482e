#include <array>
#include <catch2/catch.hpp>
#include <vector>

#include "gemm_case.h"

namespace paddle {

// Lengths on both sides of whole vectors; results on both sides of groups of rows. Short sums are
// only split if there are many.
TEMPLATE_TEST_CASE(
    "products with up to three vectors give the same bits with any number of threads, whatever "
    "their length",
    "", float, double) {
  const bool ta = GENERATE(false, true), tb = GENERATE(false, true);
  const int64_t k = GENERATE(7, 16, 33, 63, 64, 65, 77, 131, 400, 1031, 2100);
  ThreadPool one(1), two(2), three(3), four(4);
  for (const int64_t vectors : {1, 2, 3})
    for (const int64_t count :
         {int64_t{2}, int64_t{65}, int64_t{131}, int64_t{197}, 70000 / k + 11})
      for (const bool columns : {true, false})
        for (const auto& [alpha, beta, gap] :
             {std::array<double, 3>{1, 0, 0}, {-0.3, 1, 3}, {0.2, 0.7, 0}}) {
          const int64_t m = columns ? count : vectors, n = columns ? vectors : count;
          const Case<TestType> c(ta, tb, m, n, k, TestType(alpha), TestType(beta),
                                 static_cast<int64_t>(gap));
          const auto first = c.check([&](const Product<TestType>& p) { call_gemm(one, p); });
          for (ThreadPool* pool : {&two, &three, &four}) {
            const auto same = c.compute([&](const Product<TestType>& p) { call_gemm(*pool, p); });
            INFO(pool->threads() << " threads, trans " << ta << tb << ", " << m << " x " << n
                                 << ", k " << k << ", beta " << beta);
            const bool equal = first == same;
            CHECK(equal);
          }
        }
}

TEMPLATE_TEST_CASE("a sum of a product with up to three vectors depends on nothing beside it", "",
                   float, double) {
  const bool ta = GENERATE(false, true), tb = GENERATE(false, true);
  const int64_t k = GENERATE(1, 3, 4, 5, 8, 9, 15, 17, 31, 64, 100, 401);
  ThreadPool pool(1);
  for (const int64_t vectors : {1, 2, 3})
    for (const bool columns : {true, false})
      for (const double beta : {0.0, 1.0, 0.7}) {
        constexpr int64_t count = 37;
        const int64_t m = columns ? count : vectors, n = columns ? vectors : count;
        const Case<TestType> c(ta, tb, m, n, k, TestType(0.3), TestType(beta), 0);
        const auto whole = c.check([&](const Product<TestType>& p) { call_gemm(pool, p); });
        for (const int64_t begin : {1, 4, 9, 18, 30})
          for (const int64_t end : {begin + 4, count}) {
            const auto part = c.compute([&](Product<TestType> p) {
              (columns ? p.m : p.n) = end - begin;
              p.a += !columns ? 0 : ta ? begin : begin * p.lda;
              p.b += columns ? 0 : tb ? begin * p.ldb : begin;
              p.c += columns ? begin * p.ldc : begin;
              call_gemm(pool, p);
            });
            bool equal = true;
            for (int64_t i = begin; i < end; ++i)
              for (int64_t v = 0; v < vectors; ++v) {
                const size_t at = c.at(columns ? i * c.p.ldc + v : v * c.p.ldc + i);
                equal = equal && whole[at] == part[at];
              }
            INFO("trans " << ta << tb << ", " << m << " x " << n << ", k " << k << ", results "
                          << begin << " to " << end << ", beta " << beta);
            CHECK(equal);
          }
      }
}

}  // namespace paddle
