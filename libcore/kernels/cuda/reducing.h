// The loops of kernels/reducing.h on a GPU: one thread for each result. One long array is reduced
// in blocks of a fixed size, which are joined in order.
#pragma once

#include "kernels/cuda/map.h"
#include "kernels/cuda/memory.h"

namespace paddle {
namespace reducing {

// out[o, k] over x[o, j, k] for j in [0, n); the last of the blocks may be shorter.
template <class Op>
struct ReduceAt {
  int64_t n, inner, total;
  template <class T>
  PS_HD void operator()(int64_t i, const T* x, T* out) const {
    const Op op;
    const int64_t first = i / inner * n * inner + i % inner;
    T result = Op::template identity<T>;
    for (int64_t j = 0, at = first; j < n && at < total; ++j, at += inner)
      result = op(result, x[at]);
    out[i] = result;
  }
};

struct Loops {
  size_t size;  // of an element
  void (*reduce)(const Device& device, int64_t outer, int64_t n, int64_t inner, int64_t total,
                 const void* x, void* out);
  void (*fill)(const Device& device, int64_t n, void* out);  // with the result of nothing
};

template <class Op, class T>
void reduce_at(const Device& device, int64_t outer, int64_t n, int64_t inner, int64_t total,
               const void* x, void* out) {
  cuda::launch(device, outer * inner, ReduceAt<Op>{n, inner, total}, static_cast<const T*>(x),
               static_cast<T*>(out));
}
template <class Op, class T>
void fill_identity(const Device& device, int64_t n, void* out) {
  fill(device, n, static_cast<T*>(out), Op::template identity<T>);
}
template <class Op, class T>
inline constexpr Loops loops_of = {sizeof(T), reduce_at<Op, T>, fill_identity<Op, T>};

}  // namespace reducing
}  // namespace paddle
