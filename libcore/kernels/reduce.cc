#include "kernels/reduce.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "kernels/simd.h"

namespace paddle {
namespace {

// The lanes, and so the results, are the same for all versions.
template <class T>
using Vector = typename Lanes<T, 32>::Vector;
template <class T>
using Loose = typename Lanes<T, 32>::Loose;

struct Sum {
  template <class T>
  static constexpr T start = 0;
  template <class T>
  PS_INLINE static void take(T& acc, const T& x) {
    acc += x;
  }
  template <class T>
  PS_INLINE static void join(T& acc, const T& x) {
    acc += x;
  }
};
struct SumSquares : Sum {
  template <class T>
  PS_INLINE static void take(T& acc, const T& x) {
    acc += x * x;
  }
};
// Eight vectors of independent accumulators hide the latency of the addition.
template <class Op, class T>
PS_INLINE T reduce_run(const T* x, int64_t n) {
  constexpr int64_t lanes = Lanes<T, 32>::count, vectors = 8, step = vectors * lanes;
  T result = Op::template start<T>;
  int64_t i = 0;
  if (n >= step) {
    Vector<T> acc[vectors];
    for (int64_t v = 0; v < vectors; ++v) acc[v] = Vector<T>{} + Op::template start<T>;
    for (; i + step <= n; i += step) {
      for (int64_t v = 0; v < vectors; ++v) {
        const Vector<T> a = *reinterpret_cast<const Loose<T>*>(x + i + v * lanes);
        Op::take(acc[v], a);
      }
    }
    for (int64_t half = vectors / 2; half > 0; half /= 2)
      for (int64_t v = 0; v < half; ++v) Op::join(acc[v], acc[v + half]);
    for (int64_t l = 0; l < lanes; ++l) Op::join(result, T(acc[0][l]));
  }
  for (; i < n; ++i) Op::take(result, x[i]);
  return result;
}

template <class Op, class T>
PS_CLONES T reduce_block(const T* x, int64_t n) {
  return reduce_run<Op>(x, n);
}

constexpr int64_t min_block = 16384, max_blocks = 256;

template <class Op, class T>
T reduce(const Device& device, const T* x, int64_t n) {
  if (n <= min_block) return reduce_block<Op>(x, n);
  const int64_t block = std::max(min_block, (n + max_blocks - 1) / max_blocks);
  const int64_t blocks = (n + block - 1) / block;
  T partial[max_blocks];
  device.pool().parallel_for(blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      partial[i] = reduce_block<Op>(x + i * block, std::min(block, n - i * block));
  });
  double result = Op::template start<T>;
  for (int64_t i = 0; i < blocks; ++i) Op::join(result, double{partial[i]});
  return static_cast<T>(result);
}

template <class T>
PS_CLONES bool block_not_finite(const T* x, int64_t n) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  constexpr Bits exponent = sizeof(T) == 4 ? Bits{0x7f800000} : Bits(0x7ff0000000000000);
  Bits found = 0;
  for (int64_t i = 0; i < n; ++i) {
    Bits bits;
    __builtin_memcpy(&bits, x + i, sizeof(bits));
    found |= static_cast<Bits>((bits & exponent) == exponent);
  }
  return found != 0;
}

template <class T>
bool not_finite(const Device& device, const T* x, int64_t n) {
  if (n <= min_block) return block_not_finite(x, n);
  const int64_t block = std::max(min_block, (n + max_blocks - 1) / max_blocks);
  const int64_t blocks = (n + block - 1) / block;
  bool found[max_blocks];
  device.pool().parallel_for(blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      found[i] = block_not_finite(x + i * block, std::min(block, n - i * block));
  });
  return std::find(found, found + blocks, true) != found + blocks;
}

// Columns [begin, end): eight vectors of columns at a time stay in registers while the rows pass
// by.
template <class T>
PS_CLONES void columns(int64_t m, int64_t n, int64_t begin, int64_t end, const T* x, T* out,
                       bool add) {
  constexpr int64_t lanes = Lanes<T, 32>::count, vectors = 8, step = vectors * lanes;
  int64_t j = begin;
  for (; j + step <= end; j += step) {
    Vector<T> acc[vectors] = {};
    if (add)
      for (int64_t v = 0; v < vectors; ++v)
        acc[v] = *reinterpret_cast<const Loose<T>*>(out + j + v * lanes);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t v = 0; v < vectors; ++v) {
        const Vector<T> a = *reinterpret_cast<const Loose<T>*>(x + i * n + j + v * lanes);
        acc[v] += a;
      }
    }
    for (int64_t v = 0; v < vectors; ++v)
      *reinterpret_cast<Loose<T>*>(out + j + v * lanes) = acc[v];
  }
  if (j == end) return;
  const int64_t rest = end - j;
  T acc[step] = {};
  if (add) std::copy(out + j, out + end, acc);
  for (int64_t i = 0; i < m; ++i) {
    const T* row = x + i * n + j;
    for (int64_t v = 0; v < rest; ++v) acc[v] += row[v];
  }
  std::copy(acc, acc + rest, out + j);
}

template <class T>
void all_columns(const Device& device, int64_t m, int64_t n, const T* x, T* out, bool add) {
  const int64_t grain = std::max<int64_t>(64, min_block / std::max<int64_t>(1, m));
  device.pool().parallel_for(
      n, grain, [&](int64_t begin, int64_t end) { columns(m, n, begin, end, x, out, add); });
}

template <class Op, class T>
PS_CLONES void rows(int64_t begin, int64_t end, int64_t n, const T* x, T* out) {
  for (int64_t i = begin; i < end; ++i) out[i] = reduce_run<Op>(x + i * n, n);
}

template <class Op, class T>
void all_rows(const Device& device, int64_t m, int64_t n, const T* x, T* out) {
  const int64_t grain = std::max<int64_t>(1, min_block / std::max<int64_t>(1, n));
  device.pool().parallel_for(m, grain,
                             [&](int64_t begin, int64_t end) { rows<Op>(begin, end, n, x, out); });
}

}  // namespace

void sum(const Device& device, int64_t n, const float* x, float* out) {
  *out = reduce<Sum>(device, x, n);
}
void sum(const Device& device, int64_t n, const double* x, double* out) {
  *out = reduce<Sum>(device, x, n);
}
void sum_squares(const Device& device, int64_t n, const float* x, float* out) {
  *out = reduce<SumSquares>(device, x, n);
}
void sum_squares(const Device& device, int64_t n, const double* x, double* out) {
  *out = reduce<SumSquares>(device, x, n);
}

bool any_not_finite(const Device& device, int64_t n, const float* x) {
  return not_finite(device, x, n);
}
bool any_not_finite(const Device& device, int64_t n, const double* x) {
  return not_finite(device, x, n);
}

void column_sums(const Device& device, int64_t m, int64_t n, const float* x, float* out, bool add) {
  all_columns(device, m, n, x, out, add);
}
void column_sums(const Device& device, int64_t m, int64_t n, const double* x, double* out,
                 bool add) {
  all_columns(device, m, n, x, out, add);
}
void row_sums(const Device& device, int64_t m, int64_t n, const float* x, float* out) {
  all_rows<Sum>(device, m, n, x, out);
}
void row_sums(const Device& device, int64_t m, int64_t n, const double* x, double* out) {
  all_rows<Sum>(device, m, n, x, out);
}
}  // namespace paddle
