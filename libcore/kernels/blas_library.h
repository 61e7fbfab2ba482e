// OpenBLAS and oneDNN, loaded at run time. Neither is linked: OpenBLAS chooses its kernels while it
// is being loaded, so the choice must be made before, and a machine without oneDNN must work as
// well.
#pragma once

#include <cstdint>
#include <string>

namespace paddle {

struct OpenBlas {
  using Sgemm = void (*)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                         const float* a, int lda, const float* b, int ldb, float beta, float* c,
                         int ldc);
  using Dgemm = void (*)(int order, int trans_a, int trans_b, int m, int n, int k, double alpha,
                         const double* a, int lda, const double* b, int ldb, double beta, double* c,
                         int ldc);
  Sgemm sgemm = nullptr;
  Dgemm dgemm = nullptr;
  std::string core;     // what OpenBLAS says it chose
  std::string problem;  // why it could not be loaded; "" if it was
};

struct OneDnn {
  using Sgemm = int (*)(char trans_a, char trans_b, int64_t m, int64_t n, int64_t k, float alpha,
                        const float* a, int64_t lda, const float* b, int64_t ldb, float beta,
                        float* c, int64_t ldc);
  Sgemm sgemm = nullptr;
  // Its OpenMP runtime's; null where it was built without. The number is per calling thread.
  int (*max_threads)() = nullptr;
  void (*set_threads)(int) = nullptr;
  std::string isa;
  std::string problem;
};

// Loaded by the first call, from any thread; a missing library shows in `problem`.
const OpenBlas& openblas();
const OneDnn& onednn();

}  // namespace paddle
