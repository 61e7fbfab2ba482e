#include "optim/merge.h"

#include <algorithm>
#include <bit>
#include <type_traits>

#include "kernels/simd.h"

namespace paddle::optim {
namespace {

struct SumTwo {
  template <class T>
  PS_INLINE void operator()(int64_t n, const T* a, const T* b, T* out) const {
    PS_IVDEP
    for (int64_t i = 0; i < n; ++i) out[i] = a[i] + b[i];
  }
};

// The zero turns -0 into 0, as the op `scale` with its bias does.
struct Scaled {
  template <class T>
  PS_INLINE void operator()(int64_t n, const T* sum, T factor, T* out) const {
    PS_IVDEP
    for (int64_t i = 0; i < n; ++i) out[i] = factor * sum[i] + T(0);
  }
};

// An exponent of all ones is NaN or Inf. Integers, so that the loop is one of plain comparisons.
struct Finite {
  template <class T>
  PS_INLINE void operator()(int64_t n, const T* values, bool* finite) const {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    constexpr Bits exponent = sizeof(T) == 4 ? Bits(0x7f800000u) : Bits(0x7ff0000000000000u);
    Bits found = 0;
    for (int64_t i = 0; i < n; ++i)
      found |= static_cast<Bits>((std::bit_cast<Bits>(values[i]) & exponent) == exponent);
    *finite = found == 0;
  }
};

}  // namespace

template <class T>
void scale(const T* sum, int64_t n, T factor, T* out) {
  run_loop<worth_clones<T>>(Scaled{}, n, sum, factor, out);
}

template <class T>
void add(const T* delta, int64_t n, T* value) {
  run_loop<worth_clones<T>>(SumTwo{}, n, static_cast<const T*>(value), delta, value);
}

template <class T>
bool all_finite(const T* values, int64_t n) {
  constexpr int64_t part = 16384;  // ends early where something is wrong
  for (int64_t at = 0; at < n; at += part) {
    bool finite = true;
    run_loop<worth_clones<T>>(Finite{}, std::min(part, n - at), values + at, &finite);
    if (!finite) return false;
  }
  return true;
}

template void scale(const float*, int64_t, float, float*);
template void scale(const double*, int64_t, double, double*);
template void add(const float*, int64_t, float*);
template void add(const double*, int64_t, double*);
template bool all_finite(const float*, int64_t);
template bool all_finite(const double*, int64_t);

}  // namespace paddle::optim
