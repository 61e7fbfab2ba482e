// Convolutions as matrix products: patches of a few images at a time are laid out as columns
// ("im2col") in memory that stays in the cache, and one product serves them all.
#include "kernels/conv.h"

#include <algorithm>
#include <cstring>

#include "kernels/blas.h"
#include "kernels/conv_columns.h"

namespace paddle {
namespace {

// Images go through in chunks, and chunks belong to parts. Both depend on the shapes alone, so sums
// over parts do not depend on the number of threads.
struct Split {
  Split(const ConvSizes& g, size_t element, int64_t most_parts) {
    // Columns and outputs of a chunk together fill half of a usual second-level cache.
    const int64_t elements = (int64_t{256} << 10) / static_cast<int64_t>(element);
    const int64_t each = (g.depth() + g.filters) * g.places();
    chunk = std::clamp<int64_t>(elements / std::max<int64_t>(1, each), 1,
                                std::max<int64_t>(1, g.images));
    chunks = (g.images + chunk - 1) / chunk;
    parts = std::clamp<int64_t>(chunks, 1, most_parts);
  }
  int64_t chunk, chunks, parts;
};

constexpr int64_t max_parts = 8;

// body(part, slot, first image, images) for each chunk; parts run at the same time, the chunks of
// one part in order. `slot` numbers scratch memory that no other running part uses.
template <class Body>
void for_chunks(const Device& device, const ConvSizes& g, const Split& s, const Body& body) {
  device.pool().parallel_for(s.parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part)
      for (int64_t c = part * s.chunks / s.parts; c < (part + 1) * s.chunks / s.parts; ++c)
        body(part, begin, c * s.chunk, std::min(s.chunk, g.images - c * s.chunk));
  });
}

// Where one running part may write: columns and joined outputs of a chunk.
template <class T>
struct ChunkBuffers {
  ChunkBuffers(T* base, const ConvSizes& g, const Split& s, int64_t slot)
      : columns(base + slot * size(g, s)), joined(columns + g.depth() * s.chunk * g.places()) {}
  static int64_t size(const ConvSizes& g, const Split& s) {
    return (g.depth() + g.filters) * s.chunk * g.places();
  }
  static int64_t slots(const Device& device, const Split& s) {
    return device.pool().threads() == 1 ? 1 : s.parts;
  }
  T *columns, *joined;
};

}  // namespace

template <class T>
void conv2d(const Device& device, Scratch& scratch, const ConvSizes& g, const T* x, const T* w,
            T* y) {
  const Split s(g, sizeof(T), max_parts);
  T* base = scratch.get<T>(ChunkBuffers<T>::slots(device, s) * ChunkBuffers<T>::size(g, s));
  for_chunks(device, g, s, [&](int64_t, int64_t slot, int64_t first, int64_t count) {
    ThreadPool single(1);
    const Device inner = s.parts == 1 ? device : Device(single);
    const ChunkBuffers<T> buffers(base, g, s, slot);
    const int64_t x_step = g.groups * g.in_size(), y_step = g.groups * g.out_size();
    const int64_t n = count * g.places();
    for (int64_t k = 0; k < g.groups; ++k) {
      const T* from = x + first * x_step + k * g.in_size();
      T* to = y + first * y_step + k * g.out_size();
      const T* columns = from;
      if (count > 1 || !g.pointwise()) {
        to_columns(g, from, x_step, count, buffers.columns, n);
        columns = buffers.columns;
      }
      T* product = count > 1 ? buffers.joined : to;
      gemm(inner, false, false, g.filters, n, g.depth(), T(1), w + k * g.filters * g.depth(),
           g.depth(), columns, n, T(0), product, n);
      if (count > 1) part_images(g, product, count, to, y_step);
    }
  });
}

template <class T>
void conv2d_input_grad(const Device& device, Scratch& scratch, const ConvSizes& g, const T* w,
                       const T* dy, T* dx) {
  const Split s(g, sizeof(T), max_parts);
  T* base = scratch.get<T>(ChunkBuffers<T>::slots(device, s) * ChunkBuffers<T>::size(g, s));
  for_chunks(device, g, s, [&](int64_t, int64_t slot, int64_t first, int64_t count) {
    ThreadPool single(1);
    const Device inner = s.parts == 1 ? device : Device(single);
    const ChunkBuffers<T> buffers(base, g, s, slot);
    const int64_t x_step = g.groups * g.in_size(), y_step = g.groups * g.out_size();
    const int64_t n = count * g.places();
    std::memset(dx + first * x_step, 0, static_cast<size_t>(count * x_step) * sizeof(T));
    for (int64_t k = 0; k < g.groups; ++k) {
      const T* from = dy + first * y_step + k * g.out_size();
      if (count > 1) {
        join_images(g, from, y_step, count, buffers.joined);
        from = buffers.joined;
      }
      gemm(inner, true, false, g.depth(), n, g.filters, T(1), w + k * g.filters * g.depth(),
           g.depth(), from, n, T(0), buffers.columns, n);
      from_columns(g, buffers.columns, n, count, dx + first * x_step + k * g.in_size(), x_step);
    }
  });
}

template <class T>
void conv2d_filter_grad(const Device& device, Scratch& scratch, const ConvSizes& g, const T* x,
                        const T* dy, T* dw) {
  const int64_t size = g.groups * g.filters * g.depth();
  // Each part has a sum of its own, so large filters get fewer parts.
  const Split s(g, sizeof(T), std::clamp<int64_t>((int64_t{1} << 20) / size, 1, max_parts));
  const int64_t slots = ChunkBuffers<T>::slots(device, s);
  T* sums = scratch.get<T>(s.parts * size + slots * ChunkBuffers<T>::size(g, s));
  T* base = sums + s.parts * size;
  std::memset(sums, 0, static_cast<size_t>(s.parts * size) * sizeof(T));
  for_chunks(device, g, s, [&](int64_t part, int64_t slot, int64_t first, int64_t count) {
    ThreadPool single(1);
    const Device inner = s.parts == 1 ? device : Device(single);
    const ChunkBuffers<T> buffers(base, g, s, slot);
    const int64_t x_step = g.groups * g.in_size(), y_step = g.groups * g.out_size();
    const int64_t n = count * g.places();
    for (int64_t k = 0; k < g.groups; ++k) {
      const T* from = dy + first * y_step + k * g.out_size();
      if (count > 1) {
        join_images(g, from, y_step, count, buffers.joined);
        from = buffers.joined;
      }
      to_columns(g, x + first * x_step + k * g.in_size(), x_step, count, buffers.columns, n);
      gemm(inner, false, true, g.filters, g.depth(), n, T(1), from, n, buffers.columns, n, T(1),
           sums + part * size + k * g.filters * g.depth(), g.depth());
    }
  });
  std::copy_n(sums, size, dw);
  for (int64_t part = 1; part < s.parts; ++part)
    for (int64_t k = 0; k < size; ++k) dw[k] += sums[part * size + k];
}

#define PS_CONV(T)                                                                                \
  template void conv2d(const Device&, Scratch&, const ConvSizes&, const T*, const T*, T*);        \
  template void conv2d_input_grad(const Device&, Scratch&, const ConvSizes&, const T*, const T*,  \
                                  T*);                                                            \
  template void conv2d_filter_grad(const Device&, Scratch&, const ConvSizes&, const T*, const T*, \
                                   T*);
PS_CONV(float)
PS_CONV(double)
#undef PS_CONV

}  // namespace paddle
