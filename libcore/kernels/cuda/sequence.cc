// kernels/sequence.h on a GPU. Offsets are copied to the device for each call; each element of a
// result has a thread, which takes its rows in order.
#include "kernels/sequence.h"

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/cuda/launch.h"
#include "kernels/math.h"

namespace paddle {
namespace {

// Numbers of the host in the device's memory, until the next call of a kernel header.
const int64_t* to_workspace(const Device& device, const std::vector<int64_t>& numbers) {
  cuda::Gpu& gpu = cuda::gpu_of(device);
  auto* out = gpu.workspace<int64_t>(static_cast<int64_t>(numbers.size()));
  gpu.upload(out, numbers.data(), numbers.size() * sizeof(int64_t));
  return out;
}

const int64_t* offsets_of(const Device& device, const Sequences& s) {
  std::vector<int64_t> out{s.count > 0 ? s.begin(0) : 0};
  for (int64_t i = 0; i < s.count; ++i) out.push_back(s.end(i));
  return to_workspace(device, out);
}

// The last i of [0, count) with starts[i] <= at.
PS_HD int64_t last_start(const int64_t* starts, int64_t count, int64_t at) {
  int64_t low = 0, high = count;
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (starts[middle] <= at ? low : high) = middle;
  }
  return low;
}

template <class T>
PS_HD T pool_scale(Pool type, int64_t rows) {
  if (type == Pool::average) return T(1) / static_cast<T>(rows);
  if (type == Pool::sqrt) return T(1) / std::sqrt(static_cast<T>(rows));
  return 1;
}

template <class T>
struct PoolSequenceAt {
  Pool type;
  int64_t width;
  T pad;
  PS_HD void operator()(int64_t i, const int64_t* offsets, const T* x, T* out,
                        int32_t* index) const {
    const int64_t begin = offsets[i / width], end = offsets[i / width + 1], k = i % width;
    int64_t best = type == Pool::last ? end - 1 : begin;
    if (begin == end) {
      out[i] = pad;
      best = -1;
    } else if (type == Pool::first || type == Pool::last) {
      out[i] = x[best * width + k];
    } else if (type == Pool::max) {
      for (int64_t r = begin + 1; r < end; ++r)
        if (x[r * width + k] > x[best * width + k]) best = r;
      out[i] = x[best * width + k];
    } else {
      T sum = x[begin * width + k];
      for (int64_t r = begin + 1; r < end; ++r) sum += x[r * width + k];
      out[i] = sum * pool_scale<T>(type, end - begin);
    }
    if (index != nullptr && (type == Pool::max || begin == end))
      index[i] = static_cast<int32_t>(best);
  }
};

// One thread for a column of a sequence.
struct PoolSequenceGradAt {
  Pool type;
  int64_t width;
  template <class T>
  PS_HD void operator()(int64_t i, const int64_t* offsets, const T* dout, const int32_t* index,
                        T* dx) const {
    const int64_t begin = offsets[i / width], end = offsets[i / width + 1], k = i % width;
    if (begin == end) return;
    const bool all = type == Pool::average || type == Pool::sum || type == Pool::sqrt;
    const T each = all ? dout[i] * pool_scale<T>(type, end - begin) : T(0);
    for (int64_t r = begin; r < end; ++r) dx[r * width + k] = each;
    if (all) return;
    const int64_t row = type == Pool::first ? begin : type == Pool::last ? end - 1 : index[i];
    dx[row * width + k] = dout[i];
  }
};

struct SequenceSoftmax {
  template <class T>
  PS_HD void operator()(int64_t s, const int64_t* offsets, const T* x, T* out) const {
    T top = -std::numeric_limits<T>::infinity(), sum = 0;
    for (int64_t r = offsets[s]; r < offsets[s + 1]; ++r) top = x[r] > top ? x[r] : top;
    for (int64_t r = offsets[s]; r < offsets[s + 1]; ++r) out[r] = paddle::exp(x[r] - top);
    for (int64_t r = offsets[s]; r < offsets[s + 1]; ++r) sum += out[r];
    for (int64_t r = offsets[s]; r < offsets[s + 1]; ++r) out[r] /= sum;
  }
};

struct SequenceSoftmaxGrad {
  template <class T>
  PS_HD void operator()(int64_t s, const int64_t* offsets, const T* y, const T* dy, T* dx) const {
    T dot = 0;
    for (int64_t k = offsets[s]; k < offsets[s + 1]; ++k) dot += y[k] * dy[k];
    for (int64_t k = offsets[s]; k < offsets[s + 1]; ++k) dx[k] = y[k] * (dy[k] - dot);
  }
};

template <class T>
PS_HD T row_scale(Pool type, int64_t length) {
  if (length == 0 || type == Pool::sum) return T(1);
  return type == Pool::average ? T(1) / static_cast<T>(length)
                               : T(1) / static_cast<T>(std::sqrt(double(length)));
}

struct PoolTableAt {
  Pool type;
  int64_t width, padding;
  template <class T>
  PS_HD void operator()(int64_t i, const int64_t* offsets, const int64_t* ids, const T* table,
                        T* out) const {
    const int64_t begin = offsets[i / width], end = offsets[i / width + 1];
    T sum = 0;
    for (int64_t e = begin; e < end; ++e)
      if (ids[e] != padding) sum += table[ids[e] * width + i % width];
    out[i] = sum * row_scale<T>(type, end - begin);
  }
};

struct PoolTableGradAt {
  Pool type;
  int64_t count, width, padding;
  template <class T>
  PS_HD void operator()(int64_t i, const int64_t* offsets, const int64_t* ids, const T* dout,
                        T* drows) const {
    const int64_t row = i / width, s = last_start(offsets, count, row);
    const T scale = row_scale<T>(type, offsets[s + 1] - offsets[s]);
    drows[i] = ids[row] == padding ? T(0) : scale * dout[s * width + i % width];
  }
};

// Of each group: the first row of the result, of x, and how many rows it has; then the row behind
// the result's last.
struct RepeatTable {
  RepeatTable(const Device& device, const Repeats& r) : count(r.count) {
    std::vector<int64_t> host(static_cast<size_t>(3 * count + 1));
    int64_t row = 0;
    for (int64_t g = 0; g < count; ++g) {
      const auto at = static_cast<size_t>(g), n = static_cast<size_t>(count);
      host[at] = row;
      host[n + 1 + at] = r.begin(g);
      host[2 * n + 1 + at] = r.rows(g);
      row += r.rows(g) * r.repeats(g);
    }
    host[static_cast<size_t>(count)] = rows = row;
    starts = to_workspace(device, host);
  }
  int64_t count, rows = 0;
  const int64_t* starts;
};

struct RepeatAt {
  int64_t count, width;
  template <class T>
  PS_HD void operator()(int64_t i, const int64_t* starts, const T* x, T* out) const {
    const int64_t row = i / width, g = last_start(starts, count, row);
    const int64_t begin = starts[count + 1 + g], rows = starts[2 * count + 1 + g];
    out[i] = x[(begin + (row - starts[g]) % rows) * width + i % width];
  }
};

struct RepeatGradAt {
  int64_t count, width;
  template <class T>
  PS_HD void operator()(int64_t i, const int64_t* starts, const T* dout, T* dx) const {
    const int64_t *begins = starts + count + 1, *sizes = begins + count;
    const int64_t row = i / width, g = last_start(begins, count, row);
    T sum = 0;
    if (count > 0 && row >= begins[g] && row < begins[g] + sizes[g])
      for (int64_t at = starts[g] + row - begins[g]; at < starts[g + 1]; at += sizes[g])
        sum += dout[at * width + i % width];
    dx[i] = sum;
  }
};

}  // namespace

template <class T>
void pool_sequences(const Device& device, Pool type, const Sequences& s, T pad, const T* x, T* out,
                    int32_t* index) {
  cuda::launch(device, s.count * s.width, PoolSequenceAt<T>{type, s.width, pad},
               offsets_of(device, s), x, out, index);
}

template <class T>
void pool_sequences_grad(const Device& device, Pool type, const Sequences& s, const T* dout,
                         const int32_t* index, T* dx) {
  cuda::launch(device, s.count * s.width, PoolSequenceGradAt{type, s.width}, offsets_of(device, s),
               dout, index, dx);
}

template <class T>
void softmax_sequences(const Device& device, const Sequences& s, const T* x, T* out) {
  cuda::launch(device, s.count, SequenceSoftmax{}, offsets_of(device, s), x, out);
}

template <class T>
void softmax_sequences_grad(const Device& device, const Sequences& s, const T* y, const T* dy,
                            T* dx) {
  cuda::launch(device, s.count, SequenceSoftmaxGrad{}, offsets_of(device, s), y, dy, dx);
}

template <class T>
void pool_table_rows(const Device& device, Pool type, const Sequences& s, const int64_t* ids,
                     int64_t padding, const T* table, T* out) {
  cuda::launch(device, s.count * s.width, PoolTableAt{type, s.width, padding},
               offsets_of(device, s), ids, table, out);
}

template <class T>
void pool_table_rows_grad(const Device& device, Pool type, const Sequences& s, const int64_t* ids,
                          int64_t padding, const T* dout, T* drows) {
  cuda::launch(device, s.rows() * s.width, PoolTableGradAt{type, s.count, s.width, padding},
               offsets_of(device, s), ids, dout, drows);
}

void repeat_rows(const Device& device, const Repeats& groups, size_t row_bytes, const void* x,
                 void* out) {
  const RepeatTable table(device, groups);
  const auto as = [&](auto t) {
    using T = decltype(t);
    const auto width = static_cast<int64_t>(row_bytes / sizeof(T));
    cuda::launch(device, table.rows * width, RepeatAt{table.count, width}, table.starts,
                 static_cast<const T*>(x), static_cast<T*>(out));
  };
  row_bytes % 4 == 0 ? as(uint32_t{}) : as(uint8_t{});
}

template <class T>
void repeat_rows_grad(const Device& device, const Repeats& groups, int64_t width, const T* dout,
                      int64_t n, T* dx) {
  const RepeatTable table(device, groups);
  cuda::launch(device, n, RepeatGradAt{table.count, width}, table.starts, dout, dx);
}

#define PS_SEQUENCES(T)                                                                           \
  template void pool_sequences(const Device&, Pool, const Sequences&, T, const T*, T*, int32_t*); \
  template void pool_sequences_grad(const Device&, Pool, const Sequences&, const T*,              \
                                    const int32_t*, T*);                                          \
  template void softmax_sequences(const Device&, const Sequences&, const T*, T*);                 \
  template void softmax_sequences_grad(const Device&, const Sequences&, const T*, const T*, T*);  \
  template void pool_table_rows(const Device&, Pool, const Sequences&, const int64_t*, int64_t,   \
                                const T*, T*);                                                    \
  template void pool_table_rows_grad(const Device&, Pool, const Sequences&, const int64_t*,       \
                                     int64_t, const T*, T*);                                      \
  template void repeat_rows_grad(const Device&, const Repeats&, int64_t, const T*, int64_t, T*);
PS_SEQUENCES(float)
PS_SEQUENCES(double)
#undef PS_SEQUENCES

}  // namespace paddle
