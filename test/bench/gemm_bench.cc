// Prints, one JSON object per line, the GFLOP/s of matrix products as training makes them: each by
// our own kernels, by OpenBLAS and by oneDNN, beside the rate of a loop of nothing but
// multiply-adds. One thread. The best of several rounds counts, and the contenders take turns, so
// that a busy machine disturbs all of them alike.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "kernels/blas.h"
#include "kernels/blas_backend.h"
#include "kernels/blas_library.h"
#include "kernels/cpu.h"
#include "kernels/gemm_packed.h"
#include "tensor/tensor.h"

using namespace paddle;

namespace {

double seconds_of(const auto& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

template <int bytes, int count>
inline __attribute__((always_inline)) float multiply_adds(int64_t rounds) {
  typedef float Vector __attribute__((vector_size(bytes)));
  Vector acc[count], x = Vector{} + 0.999f, y = Vector{} + 0.001f;
  for (int i = 0; i < count; ++i)
    acc[i] = Vector{} + static_cast<float>(i + 2);  // 1 would be a fixed point
  for (int64_t r = 0; r < rounds; ++r) {
    asm volatile("");  // keeps the loop a loop
#pragma GCC unroll 16
    for (int i = 0; i < count; ++i) acc[i] = acc[i] * x + y;
  }
  float sum = 0;
  for (int i = 0; i < count; ++i) sum += acc[i][0];
  return sum;
}

#if defined(__x86_64__)
__attribute__((target("arch=x86-64-v4"))) float peak_avx512(int64_t n) {
  return multiply_adds<64, 12>(n);
}
__attribute__((target("arch=x86-64-v3"))) float peak_avx2(int64_t n) {
  return multiply_adds<32, 12>(n);
}
#endif
float peak_base(int64_t n) { return multiply_adds<16, 12>(n); }

double peak_gflops() {
  constexpr int64_t rounds = 1 << 20;
  double best = 0;
  volatile float sink = 0;
  const auto measure = [&](float (*loop)(int64_t), double lanes) {
    for (int i = 0; i < 10; ++i)
      best = std::max(best, 2e-9 * lanes * 12 * rounds / seconds_of([&] { sink = loop(rounds); }));
  };
#if defined(__x86_64__)
  if (cpu_isa() == Isa::avx512) return measure(peak_avx512, 16), best;
  if (cpu_isa() == Isa::avx2) return measure(peak_avx2, 8), best;
#endif
  return measure(peak_base, 4), best;
}

struct Entry {
  const char* name;
  bool trans_a, trans_b;
  int64_t m, n, k;
  float alpha, beta;
};

// A layer [in, out] on a batch: forward, gradient of the data, update of the weights.
std::vector<Entry> entries() {
  std::vector<Entry> all;
  constexpr std::array<std::array<int64_t, 3>, 15> layers{{{20, 13, 1},
                                                           {64, 784, 200},
                                                           {64, 200, 200},
                                                           {64, 200, 10},
                                                           {512, 784, 200},
                                                           {512, 200, 200},
                                                           {512, 200, 10},
                                                           {100, 128, 256},
                                                           {100, 256, 2073},
                                                           {100, 273, 400},
                                                           {100, 400, 400},
                                                           {100, 400, 2},
                                                           {1000, 273, 400},
                                                           {1000, 400, 400},
                                                           {1000, 400, 2}}};
  for (const auto& [batch, in, out] : layers) {
    all.push_back({"forward", false, false, batch, out, in, 1, 0});
    all.push_back({"data_grad", false, true, batch, in, out, 1, 0});
    all.push_back({"weight_update", true, false, in, out, batch, -0.01f, 1});
  }
  all.push_back({"tiny", false, false, 8, 8, 8, 1, 0});
  all.push_back({"tiny", false, true, 4, 4, 4, 1, 0});
  all.push_back({"tiny", false, false, 20, 13, 13, 1, 0});
  all.push_back({"vector", false, false, 1000, 1, 400, 1, 0});
  all.push_back({"vector", true, false, 400, 1, 1000, 1, 0});
  all.push_back({"square", false, false, 256, 256, 256, 1, 0});
  all.push_back({"square", false, false, 1024, 1024, 1024, 1, 0});
  return all;
}

struct Contender {
  std::string name;
  bool there;
  void (*run)(ThreadPool&, const Product<float>&);
  double best = 0;
};

void report(const Entry& e, ThreadPool& pool, double peak) {
  // Aligned as those of a plan are.
  const auto filled = [](int64_t rows, int64_t columns, float value) {
    Tensor t(DType::f32, {rows, columns});
    std::fill_n(t.data<float>(), rows * columns, value);
    return t;
  };
  Tensor a = filled(e.m, e.k, 0.5f), b = filled(e.k, e.n, 0.25f), c = filled(e.m, e.n, 0);
  const Product<float> p{e.trans_a,
                         e.trans_b,
                         e.m,
                         e.n,
                         e.k,
                         e.alpha,
                         a.data<float>(),
                         e.trans_a ? e.m : e.k,
                         b.data<float>(),
                         e.trans_b ? e.k : e.n,
                         e.beta,
                         c.data<float>(),
                         e.n};
  std::array<Contender, 4> contenders{
      {{"gemm", true,
        [](ThreadPool& t, const Product<float>& q) {
          gemm(t, q.trans_a, q.trans_b, q.m, q.n, q.k, q.alpha, q.a, q.lda, q.b, q.ldb, q.beta, q.c,
               q.ldc);
        }},
       {"own", true, [](ThreadPool& t, const Product<float>& q) { gemm_with(Blas::own, t, q); }},
       {"openblas", openblas().problem.empty(),
        [](ThreadPool& t, const Product<float>& q) { gemm_with(Blas::openblas, t, q); }},
       {"onednn", onednn().problem.empty(),
        [](ThreadPool& t, const Product<float>& q) { gemm_with(Blas::onednn, t, q); }}}};
  const double flops = 2.0 * static_cast<double>(e.m * e.n * e.k);
  const int calls = static_cast<int>(std::max(3.0, 2e7 / flops));
  for (int round = 0; round < 25; ++round)
    for (Contender& who : contenders) {
      if (!who.there) continue;
      who.run(pool, p);  // each finds the caches as it leaves them itself
      const double s = seconds_of([&] {
        for (int i = 0; i < calls; ++i) who.run(pool, p);
      });
      who.best = std::max(who.best, 1e-9 * flops * calls / s);
    }
  std::printf("{\"product\":\"%s\",\"m\":%ld,\"n\":%ld,\"k\":%ld,\"ns\":%.0f", e.name, long(e.m),
              long(e.n), long(e.k), flops / contenders[0].best);
  for (const Contender& who : contenders)
    if (who.there) std::printf(",\"%s\":%.2f", who.name.c_str(), who.best);
  std::printf(",\"peak\":%.1f}\n", peak);
  std::fflush(stdout);
}

}  // namespace

int main() {
  flush_denormals();
  ThreadPool pool(1);
  const double peak = peak_gflops();
  std::printf(
      "{\"gemm\":\"%s\",\"own\":\"%s\",\"openblas\":\"%s\",\"onednn\":\"%s\",\"peak\":%.1f}\n",
      gemm_kernel().c_str(), packed_isa(), openblas_core().c_str(), onednn().isa.c_str(), peak);
  for (const Entry& e : entries()) report(e, pool, peak);
  return 0;
}
