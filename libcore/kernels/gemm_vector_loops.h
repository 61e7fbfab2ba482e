// The loops of products with few vectors. Included by gemm_tiles.cc alone, once per instruction
// set: everything is local to the file.
//
// What is added to what, and what is rounded in between, is the same for every element: all sums
// are made of whole vectors, never of loops that a compiler may vectorise in one place and not in
// another, and the scaling at the end is one function that is not inlined.
#pragma once

#include <cstdint>
#include <utility>

#include "kernels/gemm_lanes.h"
#include "kernels/product.h"

namespace paddle {
namespace {

// So many results at a time: their sums stay in L1 while rows are added to them.
constexpr int64_t sums_at_once = 512;
// Shorter rows are summed in the smallest vectors, which cost the least to add up at the end.
constexpr int64_t short_row = 64;

// A vector that is used several times: the compiler would rather load it each time.
template <class Vector>
PS_INLINE void keep(Vector& v) {
#if defined(__AVX512F__)
  asm("" : "+v"(v));
#elif defined(__SSE__)
  asm("" : "+x"(v));
#endif
}

template <int bytes>
struct Whole {
  template <class T>
  PS_INLINE typename Lanes<T, bytes>::Vector load(const T* at) const {
    return paddle::load<bytes>(at);
  }
};

// Halves of a vector are added up, and their halves again, until 16 bytes are left.
template <class T, int bytes>
struct Fold {
  static constexpr int half = Lanes<T, bytes>::count / 2;
  template <int... i>
  static PS_INLINE typename Lanes<T, 16>::Vector sum(const typename Lanes<T, bytes>::Vector& v,
                                                     std::integer_sequence<int, i...>) {
    const typename Lanes<T, bytes / 2>::Vector low = __builtin_shufflevector(v, v, i...),
                                               high = __builtin_shufflevector(v, v, (i + half)...);
    return Fold<T, bytes / 2>::sum(low + high);
  }
  static PS_INLINE typename Lanes<T, 16>::Vector sum(const typename Lanes<T, bytes>::Vector& v) {
    return sum(v, std::make_integer_sequence<int, half>{});
  }
};
template <class T>
struct Fold<T, 16> {
  static PS_INLINE typename Lanes<T, 16>::Vector sum(const typename Lanes<T, 16>::Vector& v) {
    return v;
  }
};

// to[i] = the sum of the lanes of v[i], for a vector of them or for one: added in the same order.
PS_INLINE void sum_lanes(const Lanes<float, 16>::Vector (&v)[4], float* to) {
  const auto a = __builtin_shufflevector(v[0], v[1], 0, 4, 1, 5) +
                 __builtin_shufflevector(v[0], v[1], 2, 6, 3, 7);
  const auto b = __builtin_shufflevector(v[2], v[3], 0, 4, 1, 5) +
                 __builtin_shufflevector(v[2], v[3], 2, 6, 3, 7);
  store<16>(to,
            __builtin_shufflevector(a, b, 0, 1, 4, 5) + __builtin_shufflevector(a, b, 2, 3, 6, 7));
}
PS_INLINE void sum_lanes(const Lanes<double, 16>::Vector (&v)[2], double* to) {
  store<16>(to,
            __builtin_shufflevector(v[0], v[1], 0, 2) + __builtin_shufflevector(v[0], v[1], 1, 3));
}
PS_INLINE void sum_lanes(const Lanes<float, 16>::Vector& v, float* to) {
  *to = (v[0] + v[2]) + (v[1] + v[3]);
}
PS_INLINE void sum_lanes(const Lanes<double, 16>::Vector& v, double* to) { *to = v[0] + v[1]; }

// sums[v][to + r] = row r of M by x[v]. Several rows share the loads of x and hide each other's
// latency.
template <int bytes, int rows, int vectors, class T>
PS_INLINE void dot_group(const MatVec<T>& m, const T* row, T (*sums)[sums_at_once], int64_t to) {
  using Vector = typename Lanes<T, bytes>::Vector;
  constexpr int lanes = Lanes<T, bytes>::count, joined = Lanes<T, 16>::count;
  Vector acc[rows][vectors] = {};
  const auto add = [&](int64_t q, const auto& part) __attribute__((always_inline)) {
    Vector x[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) x[v] = part.load(m.x[v] + q);
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
      Vector a = part.load(row + r * m.stride + q);
      if constexpr (vectors > 1) keep(a);
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) acc[r][v] += a * x[v];
    }
  };
  int64_t q = 0;
  for (; q + lanes <= m.length; q += lanes) add(q, Whole<bytes>{});
  if (q < m.length) add(q, Some<T, bytes>(m.length - q));
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v)
#pragma GCC unroll 8
    for (int r = 0; r < rows; r += rows >= joined ? joined : 1) {
      if constexpr (rows >= joined) {
        typename Lanes<T, 16>::Vector quarters[joined];
#pragma GCC unroll 4
        for (int i = 0; i < joined; ++i) quarters[i] = Fold<T, bytes>::sum(acc[r + i][v]);
        sum_lanes(quarters, sums[v] + to + r);
      } else {
        sum_lanes(Fold<T, bytes>::sum(acc[r][v]), sums[v] + to + r);
      }
    }
}

// As many sums as registers allow.
template <int vectors>
constexpr int dot_rows = vector_bytes >= 64 || vectors == 1 ? 8 : 4;

template <int bytes, int rows, int vectors, class T>
PS_INLINE int64_t dot_groups(const MatVec<T>& m, int64_t begin, int64_t i, int64_t count,
                             T (*sums)[sums_at_once]) {
  for (; i + rows <= count; i += rows)
    dot_group<bytes, rows, vectors>(m, m.matrix + (begin + i) * m.stride, sums, i);
  return i;
}

template <int bytes, int vectors, class T>
void dot_sums(const MatVec<T>& m, int64_t begin, int64_t count, T (*sums)[sums_at_once]) {
  constexpr int many = dot_rows<vectors>;
  int64_t i = dot_groups<bytes, many, vectors>(m, begin, 0, count, sums);
  if constexpr (many > 4) i = dot_groups<bytes, 4, vectors>(m, begin, i, count, sums);
  i = dot_groups<bytes, 2, vectors>(m, begin, i, count, sums);
  dot_groups<bytes, 1, vectors>(m, begin, i, count, sums);
}

// sums[v][j] += rows [q, q + rows) of M by as many elements of x[v], one after the other. The first
// group starts from 0, not from what is in memory.
template <int rows, int vectors, bool first = false, class T>
PS_INLINE void add_group(const MatVec<T>& m, int64_t q, const T* row, int64_t count,
                         T (*sums)[sums_at_once]) {
  using Vector = typename Lanes<T, vector_bytes>::Vector;
  constexpr int lanes = Lanes<T, vector_bytes>::count;
  Vector x[rows][vectors];
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) x[r][v] = m.x[v][(q + r) * m.x_step] - Vector{};
  const auto add = [&](int64_t j, const auto& part) __attribute__((always_inline)) {
    Vector acc[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) acc[v] = first ? Vector{} : load<vector_bytes>(sums[v] + j);
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
      Vector a = part.load(row + r * m.stride + j);
      if constexpr (vectors > 1) keep(a);
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) acc[v] += x[r][v] * a;
    }
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) store<vector_bytes>(sums[v] + j, acc[v]);
  };
  int64_t j = 0;
  for (; j + lanes <= count; j += lanes) add(j, Whole<vector_bytes>{});
  if (j < count) add(j, Some<T, vector_bytes>(count - j));
}

template <int vectors>
constexpr int add_rows = vector_bytes >= 64 || vectors == 1 ? 8 : 4;

template <int vectors, class T>
void add_sums(const MatVec<T>& m, int64_t begin, int64_t count, T (*sums)[sums_at_once]) {
  constexpr int many = add_rows<vectors>;
  const T* row = m.matrix + begin;
  int64_t q = 0;
  if (m.length >= many) {
    add_group<many, vectors, true>(m, 0, row, count, sums);
    q = many;
  } else {
    for (int v = 0; v < vectors; ++v)
      for (int64_t j = 0; j < sums_at_once && j < count + Lanes<T, vector_bytes>::count; ++j)
        sums[v][j] = 0;
  }
  for (; q + many <= m.length; q += many)
    add_group<many, vectors>(m, q, row + q * m.stride, count, sums);
  if constexpr (many > 4)
    for (; q + 4 <= m.length; q += 4) add_group<4, vectors>(m, q, row + q * m.stride, count, sums);
  for (; q < m.length; ++q) add_group<1, vectors>(m, q, row + q * m.stride, count, sums);
}

// One product and one sum at most may be fused, whatever loop this becomes.
template <class T>
__attribute__((noinline)) void put_sums(const T* sums, int64_t count, T alpha, T beta, T* y,
                                        int64_t step) {
  if (beta == 0)
    for (int64_t i = 0; i < count; ++i) y[i * step] = alpha * sums[i];
  else if (beta == 1 && step == 1)  // a loop of whole vectors
    for (int64_t i = 0; i < count; ++i) y[i] += alpha * sums[i];
  else if (beta == 1)
    for (int64_t i = 0; i < count; ++i) y[i * step] += alpha * sums[i];
  else
    for (int64_t i = 0; i < count; ++i) {
      volatile T old = beta * y[i * step];
      y[i * step] = alpha * sums[i] + old;
    }
}

template <int vectors, class T>
void vector_sums(const MatVec<T>& given, int64_t begin, int64_t end) {
  const MatVec<T> m = given;  // a copy cannot alias y
  alignas(64) T sums[vectors][sums_at_once];
  for (int64_t i = begin; i < end; i += sums_at_once) {
    const int64_t count = end - i < sums_at_once ? end - i : sums_at_once;
    if (!m.dots)
      add_sums<vectors>(m, i, count, sums);
    else if (m.length < short_row)
      dot_sums<16, vectors>(m, i, count, sums);
    else
      dot_sums<vector_bytes, vectors>(m, i, count, sums);
    for (int v = 0; v < vectors; ++v)
      put_sums(sums[v], count, m.alpha, m.beta, m.y[v] + i * m.y_step, m.y_step);
  }
}

// Results [begin, end) of each vector.
template <class T>
void multiply_vectors(const MatVec<T>& m, int64_t begin, int64_t end) {
  if (m.vectors == 1) return vector_sums<1>(m, begin, end);
  m.vectors == 2 ? vector_sums<2>(m, begin, end) : vector_sums<3>(m, begin, end);
}

}  // namespace
}  // namespace paddle
