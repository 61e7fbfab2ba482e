// How one loop becomes code for several instruction sets, and one functor code for CPU and GPU.
#pragma once

#include <type_traits>

// A function marked PS_CLONES is compiled once per instruction set; the loader picks the best
// version the CPU has. Sanitizers cannot run that early, clang and nvcc do not know it on
// templates: they get the plain version.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__) && \
    !defined(PS_ONE_ISA)
#define PS_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define PS_CLONES
#endif

#if defined(__CUDACC__)
#define PS_HD __host__ __device__
#else
#define PS_HD
#endif

// A function that must melt into its cloned caller: called from outside it would be the plain
// version.
#if defined(__GNUC__)
#define PS_INLINE inline __attribute__((always_inline))
#else
#define PS_INLINE inline
#endif

// "Iterations do not depend on each other", which holds for in-place loops too; without it the
// compiler tests for overlap and leaves the fast version whenever an output is also an input.
#if defined(__GNUC__) && !defined(__clang__)
#define PS_IVDEP _Pragma("GCC ivdep")
#elif defined(__clang__)
#define PS_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define PS_IVDEP
#endif

namespace paddle {

// A vector of `bytes`, and the same at any address of an element. Read and write memory through
// Loose: memcpy into a vector that the plain version has no register for goes through the stack in
// all versions.
template <class T, int bytes>
struct Lanes {
  typedef T Vector __attribute__((vector_size(bytes)));
  typedef T Loose __attribute__((vector_size(bytes), aligned(alignof(T)), may_alias));
  static constexpr int count = bytes / static_cast<int>(sizeof(T));
};

// A loop is a functor with an always-inlined operator(). Where all arrays are float it is compiled
// for each instruction set; other types are for checks and counters, and three copies of their
// loops would only cost build time.
template <class... T>
inline constexpr bool worth_clones = (std::is_same_v<std::remove_const_t<T>, float> && ...);

template <class Loop, class... Args>
PS_CLONES void cloned_loop(const Loop& loop, const Args&... args) {
  loop(args...);
}
template <class Loop, class... Args>
void plain_loop(const Loop& loop, const Args&... args) {
  loop(args...);
}
template <bool clones, class Loop, class... Args>
void run_loop(const Loop& loop, const Args&... args) {
  if constexpr (clones)
    cloned_loop(loop, args...);
  else
    plain_loop(loop, args...);
}

}  // namespace paddle
