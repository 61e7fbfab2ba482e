// Sorting ids on a GPU, stably: chunks by counting, then runs of twice the length by binary search.
// Every thread writes one place, so there is one result.
#pragma once

#include <utility>

#include "kernels/cuda/memory.h"

namespace paddle::cuda {

inline constexpr int64_t sort_chunk = 64;

// The rank of a row among its chunk.
struct RankInChunk {
  int64_t count;
  PS_HD void operator()(int64_t i, const int64_t* ids, int64_t* order) const {
    const int64_t begin = i / sort_chunk * sort_chunk;
    const int64_t end = begin + sort_chunk < count ? begin + sort_chunk : count;
    int64_t rank = 0;
    for (int64_t k = begin; k < end; ++k)
      rank += ids[k] < ids[i] || (ids[k] == ids[i] && k < i) ? 1 : 0;
    order[begin + rank] = i;
  }
};

// Two sorted runs of `width` become one: of a row of the one, its place among those of the other.
struct MergeRuns {
  int64_t count, width;
  PS_HD void operator()(int64_t i, const int64_t* ids, const int64_t* from, int64_t* to) const {
    const int64_t left = i / (2 * width) * (2 * width);
    const int64_t right = left + width < count ? left + width : count;
    const int64_t end = right + width < count ? right + width : count;
    const bool in_left = i < right;
    const int64_t id = ids[from[i]];
    const int64_t other = in_left ? right : left;
    int64_t first = other;
    for (int64_t last = in_left ? end : right; first < last;) {
      const int64_t middle = (first + last) / 2, there = ids[from[middle]];
      if (there < id || (!in_left && there == id))
        first = middle + 1;
      else
        last = middle;
    }
    to[left + (i - (in_left ? left : right)) + (first - other)] = from[i];
  }
};

// Positions of the ids in rising order, equal ones as they were. In `order`, or without it in
// memory that the next call of a kernel header may overwrite.
inline const int64_t* sort_rows(const Device& device, const int64_t* ids, int64_t count,
                                int64_t* order) {
  auto* memory = gpu_of(device).workspace<int64_t>(2 * count + 2 * most_parts + 1);
  int64_t *from = memory, *to = memory + count;
  launch(device, count, RankInChunk{count}, ids, from);
  for (int64_t width = sort_chunk; width < count; width *= 2) {
    launch(device, count, MergeRuns{count, width}, ids, static_cast<const int64_t*>(from), to);
    std::swap(from, to);
  }
  if (order == nullptr) return from;
  copy(device, count, order, static_cast<const int64_t*>(from));
  return order;
}

struct IdBegins {
  const int64_t *ids, *order;
  PS_HD bool operator()(int64_t i) const { return i == 0 || ids[order[i]] != ids[order[i - 1]]; }
};

// What stands before each part.
struct SumOfParts {
  int64_t parts;
  PS_HD void operator()(int64_t, int64_t* counts) const {
    int64_t sum = 0;
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t own = counts[part];
      counts[part] = sum;
      sum += own;
    }
    counts[parts] = sum;
  }
};

struct WriteGroups {
  Parts parts;
  IdBegins begins;
  PS_HD void operator()(int64_t part, const int64_t* counts, int64_t* distinct,
                        int64_t* begin) const {
    int64_t group = counts[part];
    for (int64_t i = parts.begin(part); i < parts.end(part); ++i) {
      if (!begins(i)) continue;
      distinct[group] = begins.ids[begins.order[i]];
      begin[group++] = i;
    }
    if (part + 1 == parts.count) begin[group] = parts.n;
  }
};

// The distinct ids of sorted rows, and where each begins; their number, for which the host waits.
inline int64_t find_groups(const Device& device, const int64_t* ids, const int64_t* order,
                           int64_t count, int64_t* distinct, int64_t* begin) {
  const Parts parts(count);
  const IdBegins begins{ids, order};
  auto* counts = gpu_of(device).workspace<int64_t>(most_parts + 1);
  launch(device, parts.count, CountInPart<IdBegins>{parts, begins}, counts);
  launch(device, 1, SumOfParts{parts.count}, counts);
  launch(device, parts.count, WriteGroups{parts, begins}, static_cast<const int64_t*>(counts),
         distinct, begin);
  return read_one(device, static_cast<const int64_t*>(counts + parts.count));
}

}  // namespace paddle::cuda
