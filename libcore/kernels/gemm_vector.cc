#include "kernels/gemm_vector.h"

#include <algorithm>

#include "kernels/gemm_packed.h"

namespace paddle {
namespace {

// to[v][q] = from[q * step + v]. Steps that the compiler knows are copied many elements at a time.
template <class T>
void copy_vectors(const T* from, int64_t step, int64_t length, int vectors, T (*to)[longest_copy]) {
  for (int v = 0; v < vectors; ++v)
    if (step == 2)
      for (int64_t q = 0; q < length; ++q) to[v][q] = from[2 * q + v];
    else if (step == 3)
      for (int64_t q = 0; q < length; ++q) to[v][q] = from[3 * q + v];
    else
      for (int64_t q = 0; q < length; ++q) to[v][q] = from[q * step + v];
}

template <class T>
void vector_product(const Device& device, const Product<T>& p) {
  const bool column = p.n <= most_vectors && p.n <= p.m;  // results are columns of c, else rows
  const int64_t count = column ? p.m : p.n;
  const T* x = column ? p.b : p.a;
  const int64_t ldx = column ? p.ldb : p.lda;
  const bool in_rows = column ? p.trans_b : !p.trans_a;  // is each vector stored as a row?
  MatVec<T> m{column ? p.a : p.b,
              column ? p.lda : p.ldb,
              p.k,
              static_cast<int>(column ? p.n : p.m),
              column ? !p.trans_a : p.trans_b,
              {},
              in_rows ? 1 : ldx,
              {},
              column ? p.ldc : 1,
              p.alpha,
              p.beta};
  for (int v = 0; v < m.vectors; ++v) {
    m.x[v] = in_rows ? x + v * ldx : x + v;
    m.y[v] = column ? p.c + v : p.c + v * p.ldc;
  }
  alignas(64) T copies[most_vectors][longest_copy];
  if (m.dots && m.x_step != 1) {
    copy_vectors(x, m.x_step, p.k, m.vectors, copies);
    for (int v = 0; v < m.vectors; ++v) m.x[v] = copies[v];
    m.x_step = 1;
  }
  // A division takes as long as a small product: it is for those that are worth a second thread.
  constexpr int64_t min_part = 65536;  // multiply-adds
  const int64_t terms = p.k * m.vectors;
  const int64_t grain = terms * count <= min_part ? count : std::max<int64_t>(64, min_part / terms);
  device.pool().parallel_for(count, grain,
                             [&](int64_t begin, int64_t end) { vector_part(m, begin, end); });
}

}  // namespace

void gemm_vector(const Device& device, const Product<float>& p) { vector_product(device, p); }
void gemm_vector(const Device& device, const Product<double>& p) { vector_product(device, p); }

}  // namespace paddle
