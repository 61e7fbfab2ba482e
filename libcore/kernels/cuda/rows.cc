// kernels/rows.h on a GPU. Where rows repeat they are sorted, and one thread takes an element of a
// row with all that belongs to it, in order.
#include "kernels/rows.h"

#include "kernels/cuda/memory.h"
#include "kernels/cuda/sort_rows.h"

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

// Position i / width of the sorted rows, where an id begins.
struct AddGroupAt {
  int64_t count, width, padding;
  template <class T>
  PS_HD void operator()(int64_t i, const int64_t* ids, const int64_t* order, T scale,
                        const T* values, T* table) const {
    const int64_t first = i / width, k = i % width, id = ids[order[first]];
    if (id == padding || (first > 0 && ids[order[first - 1]] == id)) return;
    T sum = table[id * width + k];
    for (int64_t at = first; at < count && ids[order[at]] == id; ++at)
      sum += scale * values[order[at] * width + k];
    table[id * width + k] = sum;
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
  return cuda::first_bad(device, count, BadId{ids, height, padding});
}

size_t row_scratch_bytes(int64_t count) {
  return (3 * static_cast<size_t>(count) + 1) * sizeof(int64_t);
}

RowGroups group_rows(const Device& device, const int64_t* ids, int64_t count, void* scratch) {
  if (count == 0) return {};
  auto* distinct = static_cast<int64_t*>(scratch);
  int64_t *begin = distinct + count, *order = begin + count + 1;
  cuda::sort_rows(device, ids, count, order);
  const int64_t groups = cuda::find_groups(device, ids, order, count, distinct, begin);
  return {groups, distinct, begin, order};
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
    if (count * width == 0) return;                                                              \
    const int64_t* order = cuda::sort_rows(device, ids, count, nullptr);                         \
    cuda::launch(device, count* width, AddGroupAt{count, width, padding}, ids, order, scale,     \
                 values, table);                                                                 \
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
