#include "kernels/rows.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/simd.h"

namespace paddle {
namespace {

// How far ahead rows are fetched: enough to cover a memory access at the rate rows are copied.
constexpr int64_t ahead = 16;
constexpr int64_t grain_elements = 32768;

template <int write, class T>
PS_INLINE void prefetch_row(const T* row, int64_t width) {
  const int64_t bytes = std::min<int64_t>(width * static_cast<int64_t>(sizeof(T)), 512);
  const char* p = reinterpret_cast<const char*>(row);
  for (int64_t at = 0; at < bytes; at += 64) __builtin_prefetch(p + at, write);
  __builtin_prefetch(p + bytes - 1, write);  // a row that is not aligned ends on one line more
}

// Short rows are the rule; blocks of known size are copied inline where memcpy would be a call per
// row.
template <class T>
PS_INLINE void copy_row(const T* from, T* to, int64_t width) {
  constexpr int64_t wide = 32 / sizeof(T), narrow = 8 / sizeof(T);
  int64_t j = 0;
  for (; j + wide <= width; j += wide) std::memcpy(to + j, from + j, 32);
  for (; j + narrow <= width; j += narrow) std::memcpy(to + j, from + j, 8);
  for (; j < width; ++j) to[j] = from[j];
}

template <class T>
PS_INLINE void zero_row(T* row, int64_t width) {
  for (int64_t j = 0; j < width; ++j) row[j] = 0;
}

template <class T>
PS_CLONES void gather_range(const int64_t* ids, int64_t begin, int64_t end, int64_t width,
                            const T* table, T* out, int64_t padding) {
  for (int64_t i = begin; i < end; ++i) {
    if (i + ahead < end && ids[i + ahead] != padding)
      prefetch_row<0>(table + ids[i + ahead] * width, width);
    if (ids[i] == padding)
      zero_row(out + i * width, width);
    else
      copy_row(table + ids[i] * width, out + i * width, width);
  }
}

template <class T>
void gather(const Device& device, const int64_t* ids, int64_t count, int64_t width, const T* table,
            T* out, int64_t padding) {
  if (width == 0) return;
  device.pool().parallel_for(count, std::max<int64_t>(1, grain_elements / width),
                             [&](int64_t begin, int64_t end) {
                               gather_range(ids, begin, end, width, table, out, padding);
                             });
}

// The part of the ids that one thread owns: equal ids meet in one thread, so their order holds and
// no lock is needed.
struct Share {
  uint64_t parts, part;
  PS_INLINE bool has(int64_t id) const {
    return parts == 1 || static_cast<uint64_t>(id) % parts == part;
  }
};

template <class T>
PS_CLONES void scatter_share(Share share, const int64_t* ids, int64_t count, int64_t width, T scale,
                             const T* values, T* table, int64_t padding) {
  for (int64_t i = 0; i < count; ++i) {
    if (i + ahead < count && ids[i + ahead] != padding && share.has(ids[i + ahead]))
      prefetch_row<1>(table + ids[i + ahead] * width, width);
    if (ids[i] == padding || !share.has(ids[i])) continue;
    T* row = table + ids[i] * width;
    const T* value = values + i * width;
    PS_IVDEP
    for (int64_t j = 0; j < width; ++j) row[j] += scale * value[j];
  }
}

template <class T>
void scatter(const Device& device, const int64_t* ids, int64_t count, int64_t width, T scale,
             const T* values, T* table, int64_t padding) {
  if (count * width < 2 * grain_elements || device.pool().threads() == 1)
    return scatter_share(Share{1, 0}, ids, count, width, scale, values, table, padding);
  const int64_t parts = device.pool().threads();
  device.pool().parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part)
      scatter_share(Share{static_cast<uint64_t>(parts), static_cast<uint64_t>(part)}, ids, count,
                    width, scale, values, table, padding);
  });
}

template <class T>
PS_CLONES void sum_group_range(const RowGroups& groups, int64_t begin, int64_t end, int64_t width,
                               const T* values, T* out) {
  for (int64_t g = begin; g < end; ++g) {
    const int64_t first = groups.begin[g], last = groups.begin[g + 1];
    if (g + ahead < end)
      prefetch_row<0>(values + groups.order[groups.begin[g + ahead]] * width, width);
    T* sum = out + g * width;
    copy_row(values + groups.order[first] * width, sum, width);
    for (int64_t i = first + 1; i < last; ++i) {
      const T* value = values + groups.order[i] * width;
      PS_IVDEP
      for (int64_t j = 0; j < width; ++j) sum[j] += value[j];
    }
  }
}

template <class T>
void sum_all_groups(const Device& device, const RowGroups& groups, int64_t width, const T* values,
                    T* out) {
  if (width == 0) return;
  device.pool().parallel_for(
      groups.groups, std::max<int64_t>(1, grain_elements / width),
      [&](int64_t begin, int64_t end) { sum_group_range(groups, begin, end, width, values, out); });
}

template <class T>
int64_t merge(const Device& device, const int64_t* ids, int64_t count, int64_t width,
              const T* values, void* scratch, int64_t* out_ids, T* out) {
  const RowGroups groups = group_rows(device, ids, count, scratch);
  std::copy(groups.ids, groups.ids + groups.groups, out_ids);
  sum_all_groups(device, groups, width, values, out);
  return groups.groups;
}

// One stable pass of a radix sort by 11 bits of the key.
constexpr int digit_bits = 11;

struct Sorted {
  int64_t* ids;
  int64_t* order;
};

PS_INLINE uint64_t sort_key(int64_t id) { return static_cast<uint64_t>(id) ^ (uint64_t{1} << 63); }

void sort_pass(int64_t count, int shift, Sorted from, Sorted to) {
  constexpr uint64_t mask = (1 << digit_bits) - 1;
  int64_t start[mask + 1] = {};
  for (int64_t i = 0; i < count; ++i) ++start[(sort_key(from.ids[i]) >> shift) & mask];
  int64_t at = 0;
  for (int64_t& s : start) at += std::exchange(s, at);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t place = start[(sort_key(from.ids[i]) >> shift) & mask]++;
    to.ids[place] = from.ids[i];
    to.order[place] = from.order[i];
  }
}

}  // namespace

int64_t first_bad_id(const Device&, const int64_t* ids, int64_t count, int64_t height,
                     int64_t padding) {
  for (int64_t i = 0; i < count; ++i)
    if ((ids[i] < 0 || ids[i] >= height) && ids[i] != padding) return i;
  return -1;
}

void gather_rows(const Device& device, const int64_t* ids, int64_t count, int64_t width,
                 const float* table, float* out, int64_t padding) {
  gather(device, ids, count, width, table, out, padding);
}
void gather_rows(const Device& device, const int64_t* ids, int64_t count, int64_t width,
                 const double* table, double* out, int64_t padding) {
  gather(device, ids, count, width, table, out, padding);
}

void scatter_add_rows(const Device& device, const int64_t* ids, int64_t count, int64_t width,
                      float scale, const float* values, float* table, int64_t padding) {
  scatter(device, ids, count, width, scale, values, table, padding);
}
void scatter_add_rows(const Device& device, const int64_t* ids, int64_t count, int64_t width,
                      double scale, const double* values, double* table, int64_t padding) {
  scatter(device, ids, count, width, scale, values, table, padding);
}

size_t row_scratch_bytes(int64_t count) {
  return (4 * static_cast<size_t>(count) + 1) * sizeof(int64_t);
}

RowGroups group_rows(const Device&, const int64_t* ids, int64_t count, void* scratch) {
  int64_t* memory = static_cast<int64_t*>(scratch);
  Sorted from{memory, memory + count}, to{memory + 2 * count, memory + 3 * count};
  uint64_t varying = 0;  // the bits in which keys differ: the others need no pass
  for (int64_t i = 0; i < count; ++i) {
    from.ids[i] = ids[i];
    from.order[i] = i;
    varying |= static_cast<uint64_t>(ids[i] ^ ids[0]);
  }
  for (int shift = 0; shift < 64; shift += digit_bits) {
    if (((varying >> shift) & ((1 << digit_bits) - 1)) == 0) continue;
    sort_pass(count, shift, from, to);
    std::swap(from, to);
  }
  // Where the sorted order lies in the upper half, `begin` has only `count` entries before it: move
  // it out of the way.
  if (from.ids != memory) {
    std::copy(from.ids, from.ids + 2 * count, memory);
    from = {memory, memory + count};
  }
  int64_t* distinct = memory + 2 * count;
  int64_t* begin = memory + 3 * count;
  int64_t groups = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (i > 0 && from.ids[i] == from.ids[i - 1]) continue;
    distinct[groups] = from.ids[i];
    begin[groups++] = i;
  }
  begin[groups] = count;
  return {groups, distinct, begin, from.order};
}

void sum_groups(const Device& device, const RowGroups& groups, int64_t width, const float* values,
                float* out) {
  sum_all_groups(device, groups, width, values, out);
}
void sum_groups(const Device& device, const RowGroups& groups, int64_t width, const double* values,
                double* out) {
  sum_all_groups(device, groups, width, values, out);
}

void gather_row_bytes(const Device& device, const int64_t* ids, int64_t count, size_t bytes,
                      const void* table, void* out) {
  if (bytes == 0) return;
  const auto* from = static_cast<const char*>(table);
  auto* to = static_cast<char*>(out);
  const int64_t grain = std::max<int64_t>(1, 4 * grain_elements / static_cast<int64_t>(bytes));
  device.pool().parallel_for(count, grain, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      std::memcpy(to + static_cast<size_t>(i) * bytes, from + static_cast<size_t>(ids[i]) * bytes,
                  bytes);
  });
}

int64_t merge_rows(const Device& device, const int64_t* ids, int64_t count, int64_t width,
                   const float* values, void* scratch, int64_t* out_ids, float* out) {
  return merge(device, ids, count, width, values, scratch, out_ids, out);
}
int64_t merge_rows(const Device& device, const int64_t* ids, int64_t count, int64_t width,
                   const double* values, void* scratch, int64_t* out_ids, double* out) {
  return merge(device, ids, count, width, values, scratch, out_ids, out);
}

}  // namespace paddle
