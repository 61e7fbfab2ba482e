#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "kernels/blas.h"
#include "kernels/blas_backend.h"
#include "kernels/blas_library.h"
#include "kernels/cpu.h"

namespace paddle {
namespace {

// Matrices of one product with `gap` elements between stored rows, and what must come out, by naive
// loops in double.
template <class T>
struct Case {
  Product<T> p;
  std::vector<T> a, b, c;
  std::vector<double> truth;

  Case(bool ta, bool tb, int64_t m, int64_t n, int64_t k, T alpha, T beta, int64_t gap)
      : p{ta,      tb,
          m,       n,
          k,       alpha,
          nullptr, (ta ? m : k) + gap,
          nullptr, (tb ? k : n) + gap,
          beta,    nullptr,
          n + gap} {
    a = filled((ta ? k : m) * p.lda, 1);
    b = filled((tb ? n : k) * p.ldb, 2);
    c = filled(m * p.ldc, 3);
    truth.assign(c.begin(), c.end());
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double s = 0;
        for (int64_t q = 0; q < k; ++q)
          s += double{a[at(ta ? q * p.lda + i : i * p.lda + q)]} *
               double{b[at(tb ? j * p.ldb + q : q * p.ldb + j)]};
        double& t = truth[at(i * p.ldc + j)];
        t = alpha * s + (beta == 0 ? 0 : beta * t);
      }
    if (beta == 0)  // an uninitialised result must not leak into the new one
      for (int64_t i = 0; i < m; ++i)
        std::fill_n(c.begin() + i * p.ldc, n, std::numeric_limits<T>::quiet_NaN());
  }

  static size_t at(int64_t i) { return static_cast<size_t>(i); }

  static std::vector<T> filled(int64_t n, uint64_t stream) {
    const RandomStream random(5, stream);
    std::vector<T> x(at(n));
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(random.uniform_double(i) * 2 - 1);
    return x;
  }

  // `run` computes p into a copy of c; the answer must be right and leave the gaps alone.
  template <class Run>
  std::vector<T> check(const Run& run) const {
    std::vector<T> out = c;
    Product<T> q = p;
    q.a = a.data();
    q.b = b.data();
    q.c = out.data();
    run(q);
    const double margin =
        std::numeric_limits<T>::epsilon() * static_cast<double>(8 + p.k) * (1 + std::abs(p.alpha));
    INFO("trans " << p.trans_a << p.trans_b << " m " << p.m << " n " << p.n << " k " << p.k
                  << " alpha " << p.alpha << " beta " << p.beta << " ldc " << p.ldc);
    double worst = 0;
    bool finite = true;
    for (size_t i = 0; i < out.size(); ++i) {
      finite = finite && std::isfinite(out[i]);
      worst = std::max(worst, std::abs(out[i] - truth[i]));
    }
    CHECK(finite);
    CHECK(worst <= margin);
    return out;
  }
};

template <class T>
void call_gemm(ThreadPool& pool, const Product<T>& p) {
  gemm(pool, p.trans_a, p.trans_b, p.m, p.n, p.k, p.alpha, p.a, p.lda, p.b, p.ldb, p.beta, p.c,
       p.ldc);
}

bool available(Blas blas) {
  if (blas == Blas::openblas) return openblas().problem.empty();
  if (blas == Blas::onednn) return onednn().problem.empty();
  return true;
}

}  // namespace

TEMPLATE_TEST_CASE("gemm is right for every shape, transposition and scale", "", float, double) {
  const bool ta = GENERATE(false, true), tb = GENERATE(false, true);
  ThreadPool one(1), three(3);
  for (const int64_t m : {0, 1, 2, 13, 64, 101})
    for (const int64_t n : {0, 1, 2, 10, 16, 33, 100})
      for (const int64_t k : {0, 1, 2, 13, 64, 200})
        for (const auto& [alpha, beta] : {std::pair<TestType, TestType>{1, 0},
                                          {TestType(-0.5), 1},
                                          {2, TestType(0.25)},
                                          {0, 1},
                                          {0, 0}})
          for (const int64_t gap : {0, 3}) {
            const Case<TestType> c(ta, tb, m, n, k, alpha, beta, gap);
            c.check([&](const Product<TestType>& p) { call_gemm(one, p); });
            if (gap == 0) c.check([&](const Product<TestType>& p) { call_gemm(three, p); });
          }
}

TEMPLATE_TEST_CASE("every backend computes the same product", "", float, double) {
  const bool ta = GENERATE(false, true), tb = GENERATE(false, true);
  ThreadPool one(1), three(3);
  struct Scale {
    TestType alpha, beta;
    int64_t gap;
  };
  // Shapes on both sides of the blocks' borders, a stride of a page, and degenerate ones.
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{70, 100, 450},
                                {150, 531, 60},
                                {13, 20, 1203},
                                {20, 40, 1024},
                                {1000, 2, 40},
                                {5, 700, 24},
                                {700, 5, 25},
                                {300, 300, 300},
                                {160, 100, 1024},
                                {155, 70, 1030},
                                {3, 5, 7},
                                {1, 1, 1},
                                {97, 97, 1}})
    for (const auto& [alpha, beta, gap] :
         {Scale{1, 0, 0}, Scale{TestType(-0.01), 1, 5}, Scale{2, TestType(0.5), 0}}) {
      const Case<TestType> c(ta, tb, m, n, k, alpha, beta, gap);
      for (const Blas blas : {Blas::own, Blas::openblas, Blas::onednn}) {
        if (!available(blas)) continue;
        const auto first = c.check([&](const Product<TestType>& p) { gemm_with(blas, one, p); });
        const auto second = c.check([&](const Product<TestType>& p) { gemm_with(blas, three, p); });
        if (blas == Blas::own) CHECK(first == second);  // the split changes no bit
      }
    }
}

TEMPLATE_TEST_CASE("products with up to three vectors, whatever their length", "", float, double) {
  const bool ta = GENERATE(false, true), tb = GENERATE(false, true);
  const int64_t k = GENERATE(1, 7, 63, 64, 77, 131, 400, 2100);
  ThreadPool one(1), three(3);
  for (const int64_t vectors : {1, 2, 3})
    for (const int64_t count : {3, 5, 64, 131, 700})
      for (const bool columns : {true, false})
        for (const int64_t gap : {0, 3}) {
          const int64_t m = columns ? count : vectors, n = columns ? vectors : count;
          const Case<TestType> c(ta, tb, m, n, k, TestType(-0.5), TestType(gap == 0 ? 0 : 1), gap);
          const auto first = c.check([&](const Product<TestType>& p) { call_gemm(one, p); });
          const auto second = c.check([&](const Product<TestType>& p) { call_gemm(three, p); });
          CHECK(first == second);  // the split changes no bit
        }
}

TEMPLATE_TEST_CASE("a product with bias and map is the product, then both", "", float, double) {
  ThreadPool one(1), three(3);
  const MapPart<TestType> halve = [](TestType* c, int64_t ldc, int64_t rows, int64_t columns) {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) c[i * ldc + j] *= TestType(0.5);
  };
  // A few elements, a vector, one tile, several blocks of terms, more rows than one block.
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{3, 4, 2},
                                {40, 2, 30},
                                {12, 10, 20},
                                {70, 200, 450},
                                {300, 100, 60},
                                {5, 6, 0}}) {
    const Case<TestType> c(false, false, m, n, k, 1, 0, 0);
    const auto bias = Case<TestType>::filled(n, 4);
    for (ThreadPool* pool : {&one, &three})
      for (const MapPart<TestType> map : {halve, MapPart<TestType>(nullptr)}) {
        std::vector<TestType> out = c.c;
        gemm_bias(*pool, m, n, k, c.a.data(), c.b.data(), bias.data(), map, out.data());
        double worst = 0;
        for (size_t i = 0; i < out.size(); ++i) {
          const double sum = c.truth[i] + double{bias[i % static_cast<size_t>(n)]};
          worst = std::max(worst, std::abs(double{out[i]} - (map == nullptr ? sum : sum / 2)));
        }
        INFO(m << " " << n << " " << k);
        CHECK(worst <= std::numeric_limits<TestType>::epsilon() * static_cast<double>(8 + k));
      }
  }
}

TEST_CASE("a row's result does not depend on the rows beside it") {
  ThreadPool pool(1);
  const Case<float> c(false, false, 103, 200, 300, 1, 0, 0);
  const auto whole = c.check([&](const Product<float>& p) { gemm_with(Blas::own, pool, p); });
  for (const int64_t begin : {0, 5, 50, 102}) {
    std::vector<float> part(static_cast<size_t>(c.p.n) * 103);
    Product<float> p = c.p;
    p.m = 103 - begin;
    p.a = c.a.data() + begin * p.lda;
    p.b = c.b.data();
    p.c = part.data();
    gemm_with(Blas::own, pool, p);
    CHECK(std::equal(whole.begin() + begin * p.ldc, whole.end(), part.begin()));
  }
}

TEST_CASE("the kernels chosen suit the CPU") {
  CAPTURE(gemm_kernel(), openblas_core());
  CHECK(openblas().problem.empty());
  CHECK_FALSE(openblas_core().empty());
  if (cpu_isa() >= Isa::avx2) {
    CHECK(openblas_core() != "Prescott");
    CHECK(openblas_core() != "generic");
    CHECK(gemm_kernel().find("base") == std::string::npos);
    CHECK(gemm_kernel().find("Prescott") == std::string::npos);
  }
  if (cpu_isa() == Isa::avx512 && std::getenv("OPENBLAS_CORETYPE") == nullptr)
    CHECK(openblas_core() == "SkylakeX");
  if (cpu_isa() == Isa::avx2 && std::getenv("OPENBLAS_CORETYPE") == nullptr)
    CHECK(openblas_core() == "Haswell");
}

TEST_CASE("loading a library leaves the environment as it was") {
  const char* before = std::getenv("OPENBLAS_CORETYPE");
  const std::string kept = before == nullptr ? "" : before;
  openblas();
  const char* after = std::getenv("OPENBLAS_CORETYPE");
  CHECK(kept == (after == nullptr ? "" : after));
}

}  // namespace paddle
