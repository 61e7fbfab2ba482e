// Which vector instructions the CPU has, as far as kernels are chosen by them.
#pragma once

namespace paddle {

enum class Isa { base, avx, avx2, avx512 };

// avx2 implies FMA; avx512 means F, DQ, BW, VL and CD, that is x86-64-v4.
inline Isa cpu_isa() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512cd"))
    return Isa::avx512;
  if (avx2) return Isa::avx2;
  if (__builtin_cpu_supports("avx")) return Isa::avx;
#endif
  return Isa::base;
}

}  // namespace paddle
