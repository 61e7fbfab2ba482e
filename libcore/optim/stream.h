// Updates whose new values go past the cache: for arrays that would not stay there until somebody
// reads them. A plain store to memory that is not in the cache reads it first; these do not, which
// is a quarter of what an update moves.
#pragma once

#include <algorithm>
#include <cstdint>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "optim/apply.h"

namespace paddle::optim {
namespace detail {

inline constexpr int64_t line = 64;          // bytes that a streaming store must fill to be cheap
inline constexpr int64_t ahead = 32 * line;  // far enough for memory, near enough for the cache

// Whole lines, from one place that is in the cache to one that starts a line.
template <class T, int64_t count>
PS_INLINE void stream(const T* from, T* to) {
#ifdef __SSE2__
  constexpr int64_t step = sizeof(__m128i) / sizeof(T);
  for (int64_t i = 0; i < count; i += step)
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm_load_si128(reinterpret_cast<const __m128i*>(from + i)));
#else
  std::copy_n(from, count, to);
#endif
}

// Tiles of a few lines are made in the cache and leave in one go. What stands before the first
// whole line and behind the last tile is stored as usual.
struct StreamLoop {
  template <class F, class T, class... S>
  PS_INLINE void operator()(int64_t begin, int64_t end, const F& given, T* to, const T* from,
                            const T* g, S*... state) const {
    constexpr int64_t tile = 4 * line / sizeof(T), per_line = line / sizeof(T);
    const Moved<F> f{given};
    const auto off = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to + begin) / sizeof(T));
    int64_t i = begin;
    const int64_t first = std::min(end, begin + (per_line - off % per_line) % per_line);
    for (; i < first; ++i) f(to[i], from[i], g[i], state[i]...);
    for (; i + tile <= end; i += tile) {
      for (int64_t j = 0; j < tile; j += per_line) {
        const int64_t next = i + j + ahead / static_cast<int64_t>(sizeof(T));
        __builtin_prefetch(from + next);
        __builtin_prefetch(g + next);
        (__builtin_prefetch(state + next, 1), ...);
      }
      alignas(line) T made[tile];
      PS_IVDEP
      for (int64_t j = 0; j < tile; ++j) f(made[j], from[i + j], g[i + j], state[i + j]...);
      stream<T, tile>(made, to + i);
    }
    for (; i < end; ++i) f(to[i], from[i], g[i], state[i]...);
  }
};

}  // namespace detail

// Waits for what this thread has streamed. Costs a part of the gain where parts are small.
inline void end_streams() {
#ifdef __SSE2__
  _mm_sfence();
#endif
}

// As update_dense_from(), with results that other threads see after end_streams() only.
template <class F, class T, class... S>
void stream_dense_from(const Device& device, int64_t n, const F& f, const T* from, T* p, const T* g,
                       S*... state) {
  device.pool().parallel_for(n, map_grain, [&](int64_t begin, int64_t end) {
    run_loop<worth_clones<T, S...>>(detail::StreamLoop{}, begin, end, f, p, from, g, state...);
    if (device.pool().threads() > 1) end_streams();  // the caller cannot do it for them
  });
}

}  // namespace paddle::optim
