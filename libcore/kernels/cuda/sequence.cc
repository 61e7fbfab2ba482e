// The calls of kernels/sequence.h that have a kernel for a GPU: one launch for each sequence, as
// its offsets are in the host's memory.
#include "kernels/sequence.h"

#include <cmath>

#include "kernels/cuda/launch.h"

namespace paddle {
namespace {

struct PoolTableColumn {
  int64_t begin, end, width, padding;
  template <class T>
  PS_HD void operator()(int64_t k, T scale, const int64_t* ids, const T* table, T* out) const {
    T sum = 0;
    for (int64_t e = begin; e < end; ++e)
      if (ids[e] != padding) sum += table[ids[e] * width + k];
    out[k] = sum * scale;
  }
};

struct PoolTableGradAt {
  int64_t width, padding;
  template <class T>
  PS_HD void operator()(int64_t i, T scale, const int64_t* ids, const T* dout, T* drows) const {
    drows[i] = ids[i / width] == padding ? T(0) : scale * dout[i % width];
  }
};

}  // namespace

template <class T>
void pool_table_rows(const Device& device, Pool type, const Sequences& s, const int64_t* ids,
                     int64_t padding, const T* table, T* out) {
  for (int64_t i = 0; i < s.count; ++i)
    cuda::launch(device, s.width, PoolTableColumn{s.begin(i), s.end(i), s.width, padding},
                 table_scale<T>(type, s.end(i) - s.begin(i)), ids, table, out + i * s.width);
}

template <class T>
void pool_table_rows_grad(const Device& device, Pool type, const Sequences& s, const int64_t* ids,
                          int64_t padding, const T* dout, T* drows) {
  for (int64_t i = 0; i < s.count; ++i)
    cuda::launch(device, (s.end(i) - s.begin(i)) * s.width, PoolTableGradAt{s.width, padding},
                 table_scale<T>(type, s.end(i) - s.begin(i)), ids + s.begin(i), dout + i * s.width,
                 drows + s.begin(i) * s.width);
}

#define PS_SEQUENCES(T)                                                                         \
  template void pool_table_rows(const Device&, Pool, const Sequences&, const int64_t*, int64_t, \
                                const T*, T*);                                                  \
  template void pool_table_rows_grad(const Device&, Pool, const Sequences&, const int64_t*,     \
                                     int64_t, const T*, T*);
PS_SEQUENCES(float)
PS_SEQUENCES(double)
#undef PS_SEQUENCES

}  // namespace paddle
