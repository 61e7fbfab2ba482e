#include "kernels/gemm_vector.h"

#include <algorithm>

#include "kernels/cpu.h"
#include "kernels/simd.h"

namespace paddle {
namespace {

// y[v] = alpha * M x[v] + beta * y[v] (rows of M dotted with x), or alpha * M' x[v] + beta * y[v]
// (rows of M added up). All vectors share one pass over M.
template <class T>
struct MatVec {
  const T* matrix;
  int64_t stride;
  const T* x[most_vectors];
  int64_t length;  // of x
  T* y[most_vectors];
  int64_t step;  // from one element of y to the next
  T alpha, beta;

  PS_INLINE void put(int v, int64_t i, T sum) const {
    T& to = y[v][i * step];
    to = beta == 0 ? alpha * sum : alpha * sum + beta * to;
  }
};

template <class T, int bytes>
PS_INLINE auto load(const T* at) {
  return *reinterpret_cast<const typename Lanes<T, bytes>::Loose*>(at);
}

// Halves are added up, and their halves again.
PS_INLINE void fold(const Lanes<float, 64>::Vector& v, Lanes<float, 16>::Vector& sum) {
  const Lanes<float, 32>::Vector half = __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
                                        __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
  sum += __builtin_shufflevector(half, half, 0, 1, 2, 3) +
         __builtin_shufflevector(half, half, 4, 5, 6, 7);
}
PS_INLINE void fold(const Lanes<double, 64>::Vector& v, Lanes<double, 16>::Vector& sum) {
  const Lanes<double, 32>::Vector half =
      __builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7);
  sum += __builtin_shufflevector(half, half, 0, 1) + __builtin_shufflevector(half, half, 2, 3);
}

// Several rows at a time share the loads of x and hide each other's latency. A row's sum does not
// depend on the rows and vectors beside it. `wide`: lanes of 64 bytes, then of 16.
template <bool wide, int rows, int vectors, class T>
PS_INLINE void dot_group(const MatVec<T>& m, int64_t i) {
  constexpr int lanes = Lanes<T, 16>::count, many = Lanes<T, 64>::count;
  typename Lanes<T, 16>::Vector acc[rows][vectors] = {};
  const T* row = m.matrix + i * m.stride;
  int64_t q = 0;
  if constexpr (wide) {
    typename Lanes<T, 64>::Vector sums[rows][vectors] = {};
    for (; q + many <= m.length; q += many) {
      typename Lanes<T, 64>::Vector x[vectors];
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) x[v] = load<T, 64>(m.x[v] + q);
#pragma GCC unroll 8
      for (int r = 0; r < rows; ++r) {
        const typename Lanes<T, 64>::Vector a = load<T, 64>(row + r * m.stride + q);
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) sums[r][v] += a * x[v];
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) fold(sums[r][v], acc[r][v]);
  }
  for (; q + lanes <= m.length; q += lanes)
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v)
        acc[r][v] += load<T, 16>(row + r * m.stride + q) * load<T, 16>(m.x[v] + q);
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      T sum = 0;
#pragma GCC unroll 4
      for (int l = 0; l < lanes; ++l) sum += acc[r][v][l];
      for (int64_t k = q; k < m.length; ++k) sum += row[r * m.stride + k] * m.x[v][k];
      m.put(v, i + r, sum);
    }
}

template <bool wide, int rows, int vectors, class T>
PS_INLINE void dot_groups(const MatVec<T>& m, int64_t begin, int64_t end) {
  int64_t i = begin;
  for (; i + rows <= end; i += rows) dot_group<wide, rows, vectors>(m, i);
  for (; i < end; ++i) dot_group<wide, 1, vectors>(m, i);
}

// `width` outputs at a time stay in registers while the rows pass by.
template <int width, int vectors, class T>
PS_INLINE int64_t add_block(const MatVec<T>& m, int64_t j, int64_t end) {
  for (; j + width <= end; j += width) {
    T acc[vectors][width] = {};
    const T* row = m.matrix + j;
    for (int64_t q = 0; q < m.length; ++q, row += m.stride)
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) {
        const T x = m.x[v][q];
        for (int64_t l = 0; l < width; ++l) acc[v][l] += x * row[l];
      }
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v)
      for (int64_t l = 0; l < width; ++l) m.put(v, j + l, acc[v][l]);
  }
  return j;
}

// One call for outputs [begin, end): as many rows, or columns, at a time as there are registers.
template <int vectors, class T>
PS_CLONES void vectors_range(const MatVec<T>& given, bool dots, bool many_registers, int64_t begin,
                             int64_t end) {
  const MatVec<T> m = given;  // a copy cannot alias y
  constexpr int rows = vectors == 1 ? 4 : 2;
  if (dots) {
    if (m.length < 64)
      dot_groups<false, 4, vectors>(m, begin, end);
    else if (many_registers)
      dot_groups<true, 4, vectors>(m, begin, end);
    else
      dot_groups<true, rows, vectors>(m, begin, end);
    return;
  }
  int64_t j = begin;
  if (many_registers) j = add_block<64, vectors>(m, j, end);
  j = add_block<32, vectors>(m, j, end);
  j = add_block<8, vectors>(m, j, end);
  j = add_block<4, vectors>(m, j, end);
  add_block<1, vectors>(m, j, end);
}

template <class T>
void vector_product(const Device& device, const Product<T>& p) {
  static const bool many_registers = cpu_isa() == Isa::avx512;
  const bool column = p.n <= most_vectors && p.n <= p.m;  // results are columns of c, else rows
  const bool dots = column ? !p.trans_a : p.trans_b;
  const int64_t vectors = column ? p.n : p.m, count = column ? p.m : p.n;
  const T* x = column ? p.b : p.a;
  const int64_t ldx = column ? p.ldb : p.lda;
  const bool in_rows = column ? p.trans_b : !p.trans_a;  // is each vector stored as a row?
  MatVec<T> m{
      column ? p.a : p.b, column ? p.lda : p.ldb, {}, p.k, {}, column ? p.ldc : 1, p.alpha, p.beta};
  T copy[most_vectors][longest_copy];
  for (int64_t v = 0; v < vectors; ++v) {
    m.x[v] = in_rows ? x + v * ldx : x + v;
    m.y[v] = column ? p.c + v : p.c + v * p.ldc;
    if (in_rows || ldx == 1) continue;
    for (int64_t q = 0; q < p.k; ++q) copy[v][q] = m.x[v][q * ldx];
    m.x[v] = copy[v];
  }
  constexpr void (*run[])(const MatVec<T>&, bool, bool, int64_t, int64_t) = {
      vectors_range<1, T>, vectors_range<2, T>, vectors_range<3, T>};
  const int64_t grain = std::max<int64_t>(64, 65536 / (p.k * vectors));
  device.pool().parallel_for(count, grain, [&](int64_t begin, int64_t end) {
    run[vectors - 1](m, dots, many_registers, begin, end);
  });
}

}  // namespace

void gemm_vector(const Device& device, const Product<float>& p) { vector_product(device, p); }
void gemm_vector(const Device& device, const Product<double>& p) { vector_product(device, p); }

}  // namespace paddle
