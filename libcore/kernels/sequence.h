// Rows that belong together: sequence s has the rows [offsets[s], offsets[s + 1]). Offsets are LoD
// and lie in the host's memory; rows and results are the device's. For float and double unless said
// otherwise.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensor/device.h"

namespace paddle {

struct Sequences {
  const size_t* offsets = nullptr;
  int64_t count = 0, width = 1;  // of sequences, of the elements of a row

  Sequences(const std::vector<size_t>& offsets, int64_t width)
      : offsets(offsets.data()), count(static_cast<int64_t>(offsets.size()) - 1), width(width) {}
  int64_t begin(int64_t s) const { return static_cast<int64_t>(offsets[s]); }
  int64_t end(int64_t s) const { return static_cast<int64_t>(offsets[s + 1]); }
  int64_t rows() const { return count > 0 ? end(count - 1) : 0; }
};

enum class Pool { average, sum, sqrt, last, first, max };

// One row per sequence, `pad` for an empty one. `index`, or null: the row of each maximum, -1 for
// none.
template <class T>
void pool_sequences(const Device& device, Pool type, const Sequences& s, T pad, const T* x, T* out,
                    int32_t* index);
// `index` is read for maxima alone.
template <class T>
void pool_sequences_grad(const Device& device, Pool type, const Sequences& s, const T* dout,
                         const int32_t* index, T* dx);

// The softmax of each sequence of single values; out may be x.
template <class T>
void softmax_sequences(const Device& device, const Sequences& s, const T* x, T* out);
template <class T>
void softmax_sequences_grad(const Device& device, const Sequences& s, const T* y, const T* dy,
                            T* dx);

// By what the sum of so many rows is multiplied.
template <class T>
T table_scale(Pool type, int64_t length) {
  if (length == 0 || type == Pool::sum) return T(1);
  return type == Pool::average ? T(1) / static_cast<T>(length)
                               : T(1) / static_cast<T>(std::sqrt(double(length)));
}

// Of the rows of a table that ids name, without the rows in between: the sum, average or sum /
// sqrt(length) of each sequence. Ids equal to `padding` are left out of the sum, not of the length.
template <class T>
void pool_table_rows(const Device& device, Pool type, const Sequences& s, const int64_t* ids,
                     int64_t padding, const T* table, T* out);
// The gradient of each row that was named.
template <class T>
void pool_table_rows_grad(const Device& device, Pool type, const Sequences& s, const int64_t* ids,
                          int64_t padding, const T* dout, T* drows);

// Groups of x's rows: group g is repeated as often as sequence g of `times` is long. Without
// `groups` a group is one row. Both are offsets in the host's memory.
struct Repeats {
  const size_t* groups;  // or null
  const size_t* times;
  int64_t count;
  int64_t begin(int64_t g) const { return groups ? static_cast<int64_t>(groups[g]) : g; }
  int64_t rows(int64_t g) const {
    return groups ? static_cast<int64_t>(groups[g + 1] - groups[g]) : 1;
  }
  int64_t repeats(int64_t g) const { return static_cast<int64_t>(times[g + 1] - times[g]); }
};
// out = the repeated groups, one after the other; for rows of any type.
void repeat_rows(const Device& device, const Repeats& groups, size_t row_bytes, const void* x,
                 void* out);
// dx[row] = the sum of the gradients of its repetitions; dx has `n` elements.
template <class T>
void repeat_rows_grad(const Device& device, const Repeats& groups, int64_t width, const T* dout,
                      int64_t n, T* dx);

}  // namespace paddle
