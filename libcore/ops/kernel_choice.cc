#include "ops/kernel_choice.h"

#include "base/error.h"
#include "kernels/blas.h"
#include "kernels/blas_library.h"
#include "kernels/cpu.h"

namespace paddle {

KernelChoice kernel_choice() {
  constexpr const char* names[] = {"of any processor", "AVX", "AVX2 and FMA",
                                   "AVX-512 (F, DQ, BW, VL, CD)"};
  const Isa isa = cpu_isa();
  KernelChoice out{.instructions = names[static_cast<size_t>(isa)],
                   .vectors = isa != Isa::base,
                   .openblas = openblas().core,
                   .openblas_problem = openblas().problem,
                   .onednn = onednn().isa,
                   .onednn_problem = onednn().problem};
  try {
    out.gemm = gemm_kernel();
  } catch (const Error& e) {
    out.problem = e.what();
  }
  return out;
}

HostProducts host_products() { return {gemm, gemm}; }

}  // namespace paddle
