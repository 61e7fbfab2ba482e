#include "kernels/sequence.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/map.h"
#include "kernels/math.h"

namespace paddle {
namespace {

template <class T>
PS_INLINE void sum_rows(const T* x, int64_t rows, int64_t width, T scale, T* out) {
  for (int64_t k = 0; k < width; ++k) out[k] = x[k];
  for (int64_t r = 1; r < rows; ++r)
    for (int64_t k = 0; k < width; ++k) out[k] += x[r * width + k];
  if (scale != 1)
    for (int64_t k = 0; k < width; ++k) out[k] *= scale;
}

template <class T>
void max_rows(const T* x, int64_t begin, int64_t end, int64_t width, T* out, int32_t* index) {
  for (int64_t k = 0; k < width; ++k) {
    int64_t best = begin;
    for (int64_t r = begin + 1; r < end; ++r)
      if (x[r * width + k] > x[best * width + k]) best = r;
    out[k] = x[best * width + k];
    if (index != nullptr) index[k] = static_cast<int32_t>(best);
  }
}

template <class T>
T scale_of(Pool type, int64_t rows) {
  if (type == Pool::average) return T(1) / static_cast<T>(rows);
  if (type == Pool::sqrt) return T(1) / std::sqrt(static_cast<T>(rows));
  return 1;
}

template <class T>
PS_CLONES void pool_range(Pool type, const Sequences& rows, int64_t first, int64_t last, T pad,
                          const T* x, T* out, int32_t* index) {
  const int64_t width = rows.width;
  for (int64_t s = first; s < last; ++s) {
    const int64_t begin = rows.begin(s), end = rows.end(s);
    T* to = out + s * width;
    int32_t* at = index != nullptr ? index + s * width : nullptr;
    if (begin == end) {
      std::fill_n(to, width, pad);
      if (at != nullptr) std::fill_n(at, width, -1);
    } else if (type == Pool::first) {
      std::copy_n(x + begin * width, width, to);
    } else if (type == Pool::last) {
      std::copy_n(x + (end - 1) * width, width, to);
    } else if (type == Pool::max) {
      max_rows(x, begin, end, width, to, at);
    } else {
      sum_rows(x + begin * width, end - begin, width, scale_of<T>(type, end - begin), to);
    }
  }
}

// Sequences per thread: enough elements to be worth one.
int64_t grain_of(const Sequences& s) {
  return std::max<int64_t>(1, 16384 * s.count / std::max<int64_t>(1, s.rows() * s.width));
}

template <class T>
PS_CLONES void pool_grad_range(Pool type, const Sequences& rows, int64_t first, int64_t last,
                               const T* dout, const int32_t* index, T* dx) {
  const int64_t width = rows.width;
  for (int64_t s = first; s < last; ++s) {
    const int64_t begin = rows.begin(s), end = rows.end(s);
    if (begin == end) continue;
    const T* from = dout + s * width;
    if (type == Pool::average || type == Pool::sum || type == Pool::sqrt) {
      const T scale = scale_of<T>(type, end - begin);
      for (int64_t r = begin; r < end; ++r)
        for (int64_t k = 0; k < width; ++k) dx[r * width + k] = from[k] * scale;
      continue;
    }
    std::fill(dx + begin * width, dx + end * width, T(0));
    for (int64_t k = 0; k < width; ++k) {
      const int64_t row = type == Pool::first  ? begin
                          : type == Pool::last ? end - 1
                                               : index[s * width + k];
      dx[row * width + k] = from[k];
    }
  }
}

template <class T>
PS_CLONES void softmax_range(const Sequences& rows, int64_t first, int64_t last, const T* x,
                             T* out) {
  for (int64_t s = first; s < last; ++s) {
    const int64_t begin = rows.begin(s), end = rows.end(s);
    T top = -std::numeric_limits<T>::infinity(), sum = 0;
    for (int64_t r = begin; r < end; ++r) top = std::max(top, x[r]);
    for (int64_t r = begin; r < end; ++r) out[r] = paddle::exp(x[r] - top);
    for (int64_t r = begin; r < end; ++r) sum += out[r];
    for (int64_t r = begin; r < end; ++r) out[r] /= sum;
  }
}

template <class T>
PS_CLONES void add_row(int64_t width, const T* from, T* to) {
  PS_IVDEP
  for (int64_t c = 0; c < width; ++c) to[c] += from[c];
}

}  // namespace

template <class T>
void pool_sequences(const Device& device, Pool type, const Sequences& s, T pad, const T* x, T* out,
                    int32_t* index) {
  device.pool().parallel_for(s.count, grain_of(s), [&](int64_t begin, int64_t end) {
    pool_range<T>(type, s, begin, end, pad, x, out, index);
  });
}

template <class T>
void pool_sequences_grad(const Device& device, Pool type, const Sequences& s, const T* dout,
                         const int32_t* index, T* dx) {
  device.pool().parallel_for(s.count, grain_of(s), [&](int64_t begin, int64_t end) {
    pool_grad_range<T>(type, s, begin, end, dout, index, dx);
  });
}

template <class T>
void softmax_sequences(const Device& device, const Sequences& s, const T* x, T* out) {
  device.pool().parallel_for(s.count, grain_of(s), [&](int64_t begin, int64_t end) {
    softmax_range<T>(s, begin, end, x, out);
  });
}

template <class T>
void softmax_sequences_grad(const Device&, const Sequences& s, const T* y, const T* dy, T* dx) {
  for (int64_t i = 0; i < s.count; ++i) {
    T dot = 0;
    for (int64_t k = s.begin(i); k < s.end(i); ++k) dot += y[k] * dy[k];
    for (int64_t k = s.begin(i); k < s.end(i); ++k) dx[k] = y[k] * (dy[k] - dot);
  }
}

template <class T>
void pool_table_rows(const Device& device, Pool type, const Sequences& s, const int64_t* ids,
                     int64_t padding, const T* table, T* out) {
  const int64_t width = s.width, grain = 1 + map_grain / (8 * width + 1);
  device.pool().parallel_for(s.count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      T* row = out + i * width;
      std::fill_n(row, width, T(0));
      for (int64_t e = s.begin(i); e < s.end(i); ++e)
        if (ids[e] != padding) add_row<T>(width, table + ids[e] * width, row);
      const T scale = table_scale<T>(type, s.end(i) - s.begin(i));
      if (scale != T(1))
        for (int64_t c = 0; c < width; ++c) row[c] *= scale;
    }
  });
}

template <class T>
void pool_table_rows_grad(const Device&, Pool type, const Sequences& s, const int64_t* ids,
                          int64_t padding, const T* dout, T* drows) {
  const int64_t width = s.width;
  for (int64_t i = 0; i < s.count; ++i) {
    const T scale = table_scale<T>(type, s.end(i) - s.begin(i));
    const T* from = dout + i * width;
    for (int64_t e = s.begin(i); e < s.end(i); ++e) {
      T* to = drows + e * width;
      for (int64_t c = 0; c < width; ++c) to[c] = ids[e] == padding ? T(0) : scale * from[c];
    }
  }
}

void repeat_rows(const Device&, const Repeats& groups, size_t row_bytes, const void* x, void* out) {
  auto* to = static_cast<char*>(out);
  for (int64_t g = 0; g < groups.count; ++g) {
    const size_t bytes = static_cast<size_t>(groups.rows(g)) * row_bytes;
    const char* from =
        static_cast<const char*>(x) + static_cast<size_t>(groups.begin(g)) * row_bytes;
    for (int64_t t = 0; bytes > 0 && t < groups.repeats(g); ++t, to += bytes)
      std::memcpy(to, from, bytes);
  }
}

template <class T>
void repeat_rows_grad(const Device&, const Repeats& groups, int64_t width, const T* dout, int64_t n,
                      T* dx) {
  std::fill_n(dx, n, T(0));
  for (int64_t g = 0; g < groups.count; ++g) {
    T* to = dx + groups.begin(g) * width;
    const int64_t size = groups.rows(g) * width;
    for (int64_t t = 0; t < groups.repeats(g); ++t, dout += size)
      for (int64_t e = 0; e < size; ++e) to[e] += dout[e];
  }
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
