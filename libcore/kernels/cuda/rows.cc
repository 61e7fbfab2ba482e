// kernels/rows.h on a GPU. Where rows repeat, one thread takes all of a column in order.
#include "kernels/rows.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "kernels/cuda/search.h"

namespace paddle {
namespace {

struct BadId {
  const int64_t* ids;
  int64_t height, padding;
  PS_HD bool operator()(int64_t i) const {
    return (ids[i] < 0 || ids[i] >= height) && ids[i] != padding;
  }
};

struct GatherAt {
  int64_t width, padding;
  template <class T>
  PS_HD void operator()(int64_t i, const int64_t* ids, const T* table, T* out) const {
    const int64_t id = ids[i / width];
    out[i] = id == padding ? T(0) : table[id * width + i % width];
  }
};

struct ScatterAddColumn {
  int64_t count, width, padding;
  template <class T>
  PS_HD void operator()(int64_t k, const int64_t* ids, T scale, const T* values, T* table) const {
    for (int64_t i = 0; i < count; ++i)
      if (ids[i] != padding) table[ids[i] * width + k] += scale * values[i * width + k];
  }
};

struct SumGroupAt {
  int64_t width;
  template <class T>
  PS_HD void operator()(int64_t i, const int64_t* begin, const int64_t* order, const T* values,
                        T* out) const {
    const int64_t group = i / width;
    T sum = 0;
    for (int64_t at = begin[group]; at < begin[group + 1]; ++at)
      sum += values[order[at] * width + i % width];
    out[i] = sum;
  }
};

template <class T>
int64_t merge(const Device& device, const int64_t* ids, int64_t count, int64_t width,
              const T* values, void* scratch, int64_t* out_ids, T* out) {
  if (count == 0) return 0;
  const RowGroups groups = group_rows(device, ids, count, scratch);
  sum_groups(device, groups, width, values, out);
  device.accelerator().copy(out_ids, groups.ids,
                            static_cast<size_t>(groups.groups) * sizeof(int64_t));
  return groups.groups;
}

}  // namespace

int64_t first_bad_id(const Device& device, const int64_t* ids, int64_t count, int64_t height,
                     int64_t padding) {
  return cuda::first_where(device, count, BadId{ids, height, padding});
}

size_t row_scratch_bytes(int64_t count) {
  return (3 * static_cast<size_t>(count) + 1) * sizeof(int64_t);
}

// The host sorts: ids are few beside the rows that they name.
RowGroups group_rows(const Device& device, const int64_t* ids, int64_t count, void* scratch) {
  const auto n = static_cast<size_t>(count);
  std::vector<int64_t> given(n), order(n), distinct, begin;
  device.accelerator().download(given.data(), ids, n * sizeof(int64_t));
  std::iota(order.begin(), order.end(), int64_t{0});
  const auto id_of = [&](int64_t i) { return given[static_cast<size_t>(i)]; };
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return id_of(a) < id_of(b); });
  for (size_t i = 0; i < n; ++i) {
    if (i > 0 && id_of(order[i]) == id_of(order[i - 1])) continue;
    distinct.push_back(id_of(order[i]));
    begin.push_back(static_cast<int64_t>(i));
  }
  const auto groups = static_cast<int64_t>(distinct.size());
  begin.push_back(count);
  auto* memory = static_cast<int64_t*>(scratch);
  const auto upload = [&](const std::vector<int64_t>& from, int64_t* to) {
    device.accelerator().upload(to, from.data(), from.size() * sizeof(int64_t));
    return to;
  };
  return {groups, upload(distinct, memory), upload(begin, memory + count),
          upload(order, memory + 2 * count + 1)};
}

void gather_row_bytes(const Device& device, const int64_t* ids, int64_t count, size_t bytes,
                      const void* table, void* out) {
  const auto as = [&](auto t) {
    using T = decltype(t);
    const auto width = static_cast<int64_t>(bytes / sizeof(T));
    cuda::launch(device, count * width, GatherAt{width, no_padding}, ids,
                 static_cast<const T*>(table), static_cast<T*>(out));
  };
  if (bytes == 0) return;
  bytes % 4 == 0 ? as(uint32_t{}) : as(uint8_t{});
}

#define PS_ROWS(T)                                                                               \
  void gather_rows(const Device& device, const int64_t* ids, int64_t count, int64_t width,       \
                   const T* table, T* out, int64_t padding) {                                    \
    cuda::launch(device, count* width, GatherAt{width, padding}, ids, table, out);               \
  }                                                                                              \
  void scatter_add_rows(const Device& device, const int64_t* ids, int64_t count, int64_t width,  \
                        T scale, const T* values, T* table, int64_t padding) {                   \
    cuda::launch(device, width, ScatterAddColumn{count, width, padding}, ids, scale, values,     \
                 table);                                                                         \
  }                                                                                              \
  void sum_groups(const Device& device, const RowGroups& groups, int64_t width, const T* values, \
                  T* out) {                                                                      \
    cuda::launch(device, groups.groups* width, SumGroupAt{width}, groups.begin, groups.order,    \
                 values, out);                                                                   \
  }                                                                                              \
  int64_t merge_rows(const Device& device, const int64_t* ids, int64_t count, int64_t width,     \
                     const T* values, void* scratch, int64_t* out_ids, T* out) {                 \
    return merge(device, ids, count, width, values, scratch, out_ids, out);                      \
  }
PS_ROWS(float)
PS_ROWS(double)
#undef PS_ROWS

}  // namespace paddle
