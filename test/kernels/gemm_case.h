// A matrix product, and what must come out.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"
#include "kernels/blas.h"
#include "kernels/product.h"

namespace paddle {

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

  // `run` computes p into a copy of c.
  template <class Run>
  std::vector<T> compute(const Run& run) const {
    std::vector<T> out = c;
    Product<T> q = p;
    q.a = a.data();
    q.b = b.data();
    q.c = out.data();
    run(q);
    return out;
  }

  // The answer must be right and leave the gaps alone.
  template <class Run>
  std::vector<T> check(const Run& run) const {
    const std::vector<T> out = compute(run);
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

}  // namespace paddle
