// The short calls of kernels/rows.h on a GPU.
#pragma once

#include "kernels/cuda/memory.h"

namespace paddle {
namespace cuda {

template <class T>
struct ClearRowAt {
  int64_t id, width;
  PS_HD void operator()(int64_t i, const int64_t* ids, T* values) const {
    if (ids[i / width] == id) values[i] = T(0);
  }
};

// One thread for a column of the table, which takes the rows in order.
template <class T>
struct ScatterColumn {
  int64_t count, width;
  PS_HD void operator()(int64_t k, const int64_t* ids, const T* values, T* table) const {
    for (int64_t i = 0; i < count; ++i) table[ids[i] * width + k] = values[i * width + k];
  }
};

struct Widen {
  PS_HD int64_t operator()(int32_t id) const { return id; }
};

}  // namespace cuda

template <class T>
void pad_rows(const Device& device, int64_t merged, int64_t count, int64_t width, int64_t* ids,
              T* values) {
  if (merged >= count) return;
  fill(device, count - merged, ids + merged, read_one(device, ids));
  fill(device, (count - merged) * width, values + merged * width, T(0));
}

template <class T>
void clear_rows(const Device& device, const int64_t* ids, int64_t count, int64_t id, int64_t width,
                T* values) {
  cuda::launch(device, count * width, cuda::ClearRowAt<T>{id, width}, ids, values);
}

template <class T>
void scatter_rows(const Device& device, const int64_t* ids, int64_t count, int64_t width,
                  const T* values, T* table) {
  cuda::launch(device, width, cuda::ScatterColumn<T>{count, width}, ids, values, table);
}

inline void widen_ids(const Device& device, const int32_t* ids, int64_t count, int64_t* out) {
  map(device, count, cuda::Widen{}, out, ids);
}

}  // namespace paddle
