#include "kernels/reducing.h"

#include "kernels/memory.h"

namespace paddle {
namespace {

using reducing::Loops;

char* at(void* x, int64_t index, size_t size) {
  return static_cast<char*>(x) + static_cast<size_t>(index) * size;
}
void* buffer_for(Scratch& scratch, int64_t count, size_t size) {
  return scratch.get<char>(count * static_cast<int64_t>(size));
}

#ifdef PS_GPU

// x [outer, n, inner] -> out [outer, inner].
void reduce_middle(const Device& device, Scratch& scratch, const Loops& loops, int64_t outer,
                   int64_t n, int64_t inner, const void* x, void* out) {
  const int64_t block = reducing::reduce_block, blocks = (n + block - 1) / block;
  if (inner > 1 || outer > 1 || blocks < 2)
    return loops.reduce(device, outer, n, inner, outer * n * inner, x, out);
  void* part = buffer_for(scratch, blocks, loops.size);
  loops.reduce(device, blocks, block, 1, n, x, part);
  loops.reduce(device, 1, blocks, 1, blocks, part, out);
}

#else

const char* at(const void* x, int64_t index, size_t size) {
  return static_cast<const char*>(x) + static_cast<size_t>(index) * size;
}

// One long array: blocks of a fixed size, joined in order.
void reduce_all(const Device& device, Scratch& scratch, const Loops& loops, int64_t n,
                const void* x, void* out) {
  const int64_t blocks = (n + reducing::reduce_block - 1) / reducing::reduce_block;
  void* part = buffer_for(scratch, blocks, loops.size);
  device.pool().parallel_for(blocks, 2, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t first = b * reducing::reduce_block;
      loops.rows(0, 1, std::min(reducing::reduce_block, n - first), at(x, first, loops.size),
                 at(part, b, loops.size));
    }
  });
  loops.rows(0, 1, blocks, part, out);
}

// x [outer, n, inner] -> out [outer, inner].
void reduce_middle(const Device& device, Scratch& scratch, const Loops& loops, int64_t outer,
                   int64_t n, int64_t inner, const void* x, void* out) {
  const auto grain = [&](int64_t work) { return std::max<int64_t>(1, map_grain / (work + 1)); };
  if (inner == 1 && outer == 1 && n > reducing::reduce_block) {
    reduce_all(device, scratch, loops, n, x, out);
  } else if (inner == 1) {
    device.pool().parallel_for(outer, grain(n),
                               [&](int64_t b, int64_t e) { loops.rows(b, e, n, x, out); });
  } else if (outer == 1) {
    device.pool().parallel_for(
        inner, std::max<int64_t>(reducing::lanes, grain(n)),
        [&](int64_t b, int64_t e) { loops.columns(b, e, n, inner, x, out); });
  } else {
    device.pool().parallel_for(outer, grain(n * inner), [&](int64_t b, int64_t e) {
      for (int64_t o = b; o < e; ++o)
        loops.columns(0, inner, n, inner, at(x, o * n * inner, loops.size),
                      at(out, o * inner, loops.size));
    });
  }
}

#endif

}  // namespace

// One pass per run of reduced dimensions, the last run first; each makes the array smaller.
void Reduction::run(const Device& device, Scratch& scratch, const Loops& loops, const void* x,
                    void* out) const {
  int passes = 0;
  for (int d = 0; d < rank_; ++d) passes += mask_[d];
  if (kept_ == 0) return;
  if (passes == 0 || reduced_ == 0) {
    if (reduced_ == 0)
      loops.fill(device, kept_, out);
    else
      copy_elements(device, kept_, loops.size, out, x);
    return;
  }
  if (passes == 1) {
    const int d = mask_[0] ? 0 : 1;
    return reduce_middle(device, scratch, loops, product(0, d), dims_[d], product(d + 1, rank_), x,
                         out);
  }
  // The results of all passes but the last lie one after the other in the scratch; a pass of more
  // than one result needs none itself.
  int64_t count = 0, inner = 1;
  for (int d = rank_ - 1, left = passes; d >= 0 && left > 1; --d) {
    if (!mask_[d])
      inner *= dims_[d];
    else
      --left, count += product(0, d) * inner;
  }
  void* part = buffer_for(scratch, count, loops.size);
  inner = 1;
  for (int d = rank_ - 1; d >= 0; --d) {
    if (!mask_[d]) {
      inner *= dims_[d];
      continue;
    }
    void* to = --passes == 0 ? out : part;
    reduce_middle(device, scratch, loops, product(0, d), dims_[d], inner, x, to);
    x = to;
    part = at(part, product(0, d) * inner, loops.size);
  }
}

}  // namespace paddle
