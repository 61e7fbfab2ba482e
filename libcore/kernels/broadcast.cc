#include "kernels/broadcast.h"

#include <algorithm>

namespace paddle {
namespace {

// All of x. Equal shapes are one long row, and so is a single y, rather than rows of one element.
Tile whole(const Extents& e) {
  if (e.same()) return {0, 1, 0, e.n, e.n, 1, true};
  if (e.n == 1) return {0, 1, 0, e.numel(), e.numel(), 1, false};
  if (e.post == 1) return {0, e.pre, 0, e.n, e.n, 1, true};
  return {0, e.pre * e.n, 0, e.post, e.post, e.n, false};
}

}  // namespace

void for_tiles(const Device& device, const Extents& e, const void* body,
               void (*call)(const void* body, const Tile& tile)) {
  const Tile all = whole(e);
  const int64_t rows_grain = std::max<int64_t>(1, map_grain / std::max<int64_t>(1, all.width));
  const bool by_rows = all.bottom > 1;
  device.pool().parallel_for(by_rows ? all.bottom : all.right, by_rows ? rows_grain : map_grain,
                             [&](int64_t begin, int64_t end) {
                               Tile part = all;
                               (by_rows ? part.top : part.left) = begin;
                               (by_rows ? part.bottom : part.right) = end;
                               call(body, part);
                             });
}

}  // namespace paddle
