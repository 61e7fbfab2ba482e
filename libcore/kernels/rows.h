// Rows of tables, addressed by ids: gather, scatter-add, and the merge of rows that occur more than
// once. Nothing here allocates and nothing checks ids but first_bad_id(): call that before, once
// per batch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "tensor/device.h"

namespace paddle {

inline constexpr int64_t no_padding = std::numeric_limits<int64_t>::min();

// The first index i with ids[i] outside [0, height) and not `padding`; -1 if there is none.
int64_t first_bad_id(const Device& device, const int64_t* ids, int64_t count, int64_t height,
                     int64_t padding = no_padding);

// out[i, :] = table[ids[i], :], or zeros where ids[i] == padding.
void gather_rows(const Device& device, const int64_t* ids, int64_t count, int64_t width,
                 const float* table, float* out, int64_t padding = no_padding);
void gather_rows(const Device& device, const int64_t* ids, int64_t count, int64_t width,
                 const double* table, double* out, int64_t padding = no_padding);

// table[ids[i], :] += scale * values[i, :], in order of i where ids repeat; ids equal to padding
// are left out.
void scatter_add_rows(const Device& device, const int64_t* ids, int64_t count, int64_t width,
                      float scale, const float* values, float* table, int64_t padding = no_padding);
void scatter_add_rows(const Device& device, const int64_t* ids, int64_t count, int64_t width,
                      double scale, const double* values, double* table,
                      int64_t padding = no_padding);

// The distinct ids in rising order, and where each occurs: group g has id ids[g] and the value rows
// order[begin[g]] ... order[begin[g + 1] - 1], in order of occurrence. All arrays lie in the
// caller's scratch.
struct RowGroups {
  int64_t groups = 0;
  const int64_t* ids = nullptr;
  const int64_t* begin = nullptr;  // groups + 1 entries
  const int64_t* order = nullptr;  // one entry per id given
};

// Bytes of scratch (aligned to 8) that group_rows() and merge_rows() need for `count` ids.
size_t row_scratch_bytes(int64_t count);

RowGroups group_rows(const Device& device, const int64_t* ids, int64_t count, void* scratch);

// out[g, :] = the sum of group g's value rows; out holds groups.groups rows.
void sum_groups(const Device& device, const RowGroups& groups, int64_t width, const float* values,
                float* out);
void sum_groups(const Device& device, const RowGroups& groups, int64_t width, const double* values,
                double* out);

// Both at once: returns the number of distinct ids; out_ids and out can hold `count` of them.
// out must not overlap values.
int64_t merge_rows(const Device& device, const int64_t* ids, int64_t count, int64_t width,
                   const float* values, void* scratch, int64_t* out_ids, float* out);
int64_t merge_rows(const Device& device, const int64_t* ids, int64_t count, int64_t width,
                   const double* values, void* scratch, int64_t* out_ids, double* out);

#ifndef PS_GPU

// Rows [merged, count) of what merge_rows() made: they name the first id and are 0, which changes
// no sum.
template <class T>
void pad_rows(const Device&, int64_t merged, int64_t count, int64_t width, int64_t* ids,
              T* values) {
  if (merged >= count) return;
  std::fill(ids + merged, ids + count, ids[0]);
  std::fill(values + merged * width, values + count * width, T(0));
}

// values[i, :] = 0 where ids[i] == id.
template <class T>
void clear_rows(const Device&, const int64_t* ids, int64_t count, int64_t id, int64_t width,
                T* values) {
  for (int64_t i = 0; i < count; ++i)
    if (ids[i] == id) std::fill_n(values + i * width, width, T(0));
}

// table[ids[i], :] = values[i, :], in order of i where ids repeat.
template <class T>
void scatter_rows(const Device&, const int64_t* ids, int64_t count, int64_t width, const T* values,
                  T* table) {
  for (int64_t i = 0; i < count; ++i)
    std::copy_n(values + i * width, width, table + ids[i] * width);
}

// out[i] = ids[i], as 64-bit numbers.
inline void widen_ids(const Device&, const int32_t* ids, int64_t count, int64_t* out) {
  std::copy_n(ids, count, out);
}

#else
}  // namespace paddle
#include "kernels/cuda/rows.h"
namespace paddle {
#endif

// out[i, :] = table[ids[i], :] for rows of any type, `bytes` long.
void gather_row_bytes(const Device& device, const int64_t* ids, int64_t count, size_t bytes,
                      const void* table, void* out);

}  // namespace paddle
