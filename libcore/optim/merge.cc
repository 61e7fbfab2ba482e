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

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;

// Without the sign, numbers are ordered as their bits are, with Inf and then NaN last.
struct Largest {
  template <class T>
  PS_INLINE void operator()(int64_t n, const T* values, Bits<T>* found) const {
    Bits<T> most = 0;
    for (int64_t i = 0; i < n; ++i)
      most =
          std::max(most, std::bit_cast<Bits<T>>(values[i]) & std::numeric_limits<Bits<T>>::max());
    *found = most;
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
T largest(const T* values, int64_t n) {
  Bits<T> most = 0;
  run_loop<worth_clones<T>>(Largest{}, n, values, &most);
  constexpr T infinity = std::numeric_limits<T>::infinity();
  return most < std::bit_cast<Bits<T>>(infinity) ? std::bit_cast<T>(most) : infinity;
}

template void scale(const float*, int64_t, float, float*);
template void scale(const double*, int64_t, double, double*);
template void add(const float*, int64_t, float*);
template void add(const double*, int64_t, double*);
template float largest(const float*, int64_t);
template double largest(const double*, int64_t);

}  // namespace paddle::optim
