#include "kernels/blas.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "base/error.h"
#include "kernels/blas_backend.h"
#include "kernels/blas_library.h"
#include "kernels/cpu.h"
#include "kernels/gemm_packed.h"
#include "kernels/gemm_vector.h"
#include "kernels/simd.h"

namespace paddle {
namespace {

// The only environment variable read outside options/: it serves tests and measurements of this
// file, and the choice must be the same in every program that links the core.
Blas chosen_blas() {
  const char* value = std::getenv("PADDLE_BLAS");
  const std::string_view name = value == nullptr ? "" : value;
  if (name == "openblas") return Blas::openblas;
  if (name == "onednn") return Blas::onednn;
  if (name == "own") return Blas::own;
  require(name.empty(), Error::Kind::config, "PADDLE_BLAS is '", name,
          "'; it can be own, openblas or onednn");
  // As gemm_bench measures it: with AVX2 and AVX-512 our own is as fast as either library or
  // faster, needs none, and does not depend on the split over threads. Older CPUs are what OpenBLAS
  // was tuned for.
  if (cpu_isa() < Isa::avx2 && openblas().problem.empty()) return Blas::openblas;
  return Blas::own;
}

int narrow(int64_t size) {
  require(size <= std::numeric_limits<int>::max(), Error::Kind::config,
          "a matrix product with a dimension of ", size,
          " is too large for OpenBLAS; set PADDLE_BLAS=own");
  return static_cast<int>(size);
}

template <class T>
void with_openblas(const Product<T>& p) {
  const OpenBlas& blas = openblas();
  require(blas.problem.empty(), Error::Kind::config, "cannot load OpenBLAS: ", blas.problem,
          "; install libopenblas0 or set PADDLE_BLAS=own");
  constexpr int row_major = 101, plain = 111, transposed = 112;
  const auto call = [&](auto function) {
    function(row_major, p.trans_a ? transposed : plain, p.trans_b ? transposed : plain, narrow(p.m),
             narrow(p.n), narrow(p.k), p.alpha, p.a, narrow(p.lda), p.b, narrow(p.ldb), p.beta, p.c,
             narrow(p.ldc));
  };
  if constexpr (sizeof(T) == sizeof(float))
    call(blas.sgemm);
  else
    call(blas.dgemm);
}

void with_onednn(const Product<float>& p) {
  const OneDnn& dnn = onednn();
  require(dnn.problem.empty(), Error::Kind::config, "cannot load oneDNN: ", dnn.problem,
          "; install libdnnl2 or unset PADDLE_BLAS");
  // Its own threads would fight the pool's for the cores. The setting is this thread's; others may
  // want it back.
  const int threads = dnn.max_threads != nullptr ? dnn.max_threads() : 1;
  if (threads != 1) dnn.set_threads(1);
  const int status = dnn.sgemm(p.trans_a ? 'T' : 'N', p.trans_b ? 'T' : 'N', p.m, p.n, p.k, p.alpha,
                               p.a, p.lda, p.b, p.ldb, p.beta, p.c, p.ldc);
  if (threads != 1) dnn.set_threads(threads);
  require(status == 0, Error::Kind::config, "oneDNN refused a product of ", p.m, "x", p.k, " by ",
          p.k, "x", p.n, " (status ", status, "); set PADDLE_BLAS=own");
}

template <class T>
void one_part(Blas blas, const Product<T>& p) {
  if (blas == Blas::own) return gemm_packed(p);
  if constexpr (sizeof(T) == sizeof(float)) {
    if (blas == Blas::onednn) return with_onednn(p);
  }
  with_openblas(p);
}

template <class T>
Product<T> row_part(const Product<T>& p, int64_t begin, int64_t end) {
  Product<T> part = p;
  part.m = end - begin;
  part.a += p.trans_a ? begin : begin * p.lda;
  part.c += begin * p.ldc;
  return part;
}

template <class T>
Product<T> column_part(const Product<T>& p, int64_t begin, int64_t end) {
  Product<T> part = p;
  part.n = end - begin;
  part.b += p.trans_b ? begin * p.ldb : begin;
  part.c += begin;
  if (p.finish.bias != nullptr) part.finish.bias += begin;
  return part;
}

// c = beta * c: all there is to do where k or alpha is 0.
template <class T>
PS_CLONES void scale_result(const Product<T>& p) {
  for (int64_t i = 0; i < p.m; ++i) {
    T* row = p.c + i * p.ldc;
    if (p.beta == 0) {
      for (int64_t j = 0; j < p.n; ++j) row[j] = 0;
    } else {
      for (int64_t j = 0; j < p.n; ++j) row[j] *= p.beta;
    }
  }
}

template <class T>
PS_CLONES void add_rows(const T* row, int64_t begin, int64_t end, int64_t n, T* c, int64_t ldc) {
  for (int64_t i = begin; i < end; ++i) {
    PS_IVDEP
    for (int64_t j = 0; j < n; ++j) c[i * ldc + j] += row[j];
  }
}

// Parts are whole tiles of this size, and no smaller than what pays for waking a thread.
constexpr int64_t tile = 48;
constexpr int64_t min_part = int64_t{1} << 20;  // multiply-adds

template <class T>
void split(Blas blas, const Device& device, const Product<T>& p) {
  const bool by_rows = p.m >= p.n;
  const int64_t size = by_rows ? p.m : p.n, across = (by_rows ? p.n : p.m) * p.k;
  const int64_t tiles = (size + tile - 1) / tile;
  const int64_t grain = std::max<int64_t>(1, min_part / std::max<int64_t>(1, across * tile));
  device.pool().parallel_for(tiles, grain, [&](int64_t begin, int64_t end) {
    begin *= tile;
    end = std::min(end * tile, size);
    one_part(blas, by_rows ? row_part(p, begin, end) : column_part(p, begin, end));
  });
}

// For what does not finish a product by itself.
template <class T>
void finish(const Device& device, const Product<T>& p) {
  if (p.finish.bias == nullptr) return;
  device.pool().parallel_for(p.m, 1 + 16384 / (p.n + 1), [&](int64_t begin, int64_t end) {
    add_rows(p.finish.bias, begin, end, p.n, p.c, p.ldc);
    if (p.finish.map != nullptr) p.finish.map(p.c + begin * p.ldc, p.ldc, end - begin, p.n);
  });
}

template <class T>
void any_gemm(const Device& device, const Product<T>& p) {
  if (p.m <= 0 || p.n <= 0) return;
  const int64_t work = p.m * p.n * p.k;
  if (p.k <= 0 || p.alpha == 0)
    scale_result(p);
  else if (is_vector_product(p))
    gemm_vector(device, p);
  else if (work <= 4096)
    return gemm_packed(p);  // the call of a library costs more than it gains
  else
    return gemm_with(default_blas(), device, p);
  finish(device, p);
}

}  // namespace

Blas default_blas() {
  static const Blas blas = chosen_blas();
  return blas;
}

void gemm_with(Blas blas, const Device& device, const Product<float>& p) {
  split(blas, device, p);
  if (blas != Blas::own) finish(device, p);
}
void gemm_with(Blas blas, const Device& device, const Product<double>& p) {
  split(blas, device, p);
  if (blas != Blas::own) finish(device, p);
}

void gemm(const Device& device, bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k,
          float alpha, const float* a, int64_t lda, const float* b, int64_t ldb, float beta,
          float* c, int64_t ldc) {
  any_gemm(device, Product<float>{trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc});
}

void gemm(const Device& device, bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k,
          double alpha, const double* a, int64_t lda, const double* b, int64_t ldb, double beta,
          double* c, int64_t ldc) {
  any_gemm(device, Product<double>{trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc});
}

void gemm_bias(const Device& device, int64_t m, int64_t n, int64_t k, const float* a,
               const float* b, const float* bias, MapPart<float> map, float* c) {
  any_gemm(device, Product<float>{false, false, m, n, k, 1, a, k, b, n, 0, c, n, {bias, map}});
}

void gemm_bias(const Device& device, int64_t m, int64_t n, int64_t k, const double* a,
               const double* b, const double* bias, MapPart<double> map, double* c) {
  any_gemm(device, Product<double>{false, false, m, n, k, 1, a, k, b, n, 0, c, n, {bias, map}});
}

std::string gemm_kernel() {
  switch (default_blas()) {
    case Blas::openblas: return "OpenBLAS " + openblas_core();
    case Blas::onednn: return "oneDNN " + onednn().isa;
    case Blas::own: break;
  }
  return text("own ", packed_isa());
}

std::string openblas_core() { return openblas().core; }

}  // namespace paddle
