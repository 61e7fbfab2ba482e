#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "gemm_case.h"
#include "kernels/blas.h"
#include "kernels/blas_backend.h"
#include "kernels/blas_library.h"
#include "kernels/cpu.h"
#include "kernels/gemm_packed.h"

namespace paddle {
namespace {

// The versions for the instruction sets of this CPU.
std::vector<const PackedGemm*> versions() {
  std::vector<const PackedGemm*> all{&packed_base};
#if defined(__x86_64__)
  if (cpu_isa() >= Isa::avx2) all.push_back(&packed_avx2);
  if (cpu_isa() >= Isa::avx512) all.push_back(&packed_avx512);
#endif
  return all;
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

// Parts of tiles, parts of vectors, one and several blocks of terms, few terms, many terms; small
// products.
TEMPLATE_TEST_CASE("the version for each instruction set is right, and parts have the same bits",
                   "", float, double) {
  const bool ta = GENERATE(false, true), tb = GENERATE(false, true);
  std::vector<std::byte> memory(packed_scratch_bytes + 64);
  void* const scratch =
      reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(memory.data()) + 63) / 64 * 64);
  for (const PackedGemm* version : versions())
    for (const auto& [m, n, k] : {std::array<int64_t, 3>{70, 100, 450},
                                  {160, 41, 300},
                                  {200, 10, 64},
                                  {151, 77, 10},
                                  {150, 200, 2},
                                  {29, 19, 1030},
                                  {20, 13, 13},
                                  {23, 32, 64}})
      for (const auto& [alpha, beta] : {std::array<double, 2>{1, 0}, {-0.01, 1}, {2, 0.3}}) {
        const Case<TestType> c(ta, tb, m, n, k, TestType(alpha), TestType(beta), 0);
        const auto run = [&](const Product<TestType>& p) {
          if constexpr (sizeof(TestType) == sizeof(float))
            version->f32(p, scratch);
          else
            version->f64(p, scratch);
        };
        INFO(version->isa << " trans " << ta << tb << ", " << m << " x " << n << ", k " << k
                          << ", beta " << beta);
        const auto whole = c.check(run);
        const auto parts = c.compute([&](const Product<TestType>& p) {
          for (int64_t j = 0; j < n; j += 7) {
            Product<TestType> part = p;
            part.n = std::min<int64_t>(7, n - j);
            part.b += tb ? j * p.ldb : j;
            part.c += j;
            run(part);
          }
        });
        const bool equal = whole == parts;
        CHECK(equal);
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
