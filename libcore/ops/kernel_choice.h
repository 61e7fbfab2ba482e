// What computes on this machine, in words: chosen by the processor, by what libraries are there and
// by PADDLE_BLAS.
#pragma once

#include <string>

#include "tensor/device.h"

namespace paddle {

struct KernelChoice {
  std::string instructions;   // that the kernels use: "AVX2 and FMA"
  bool vectors = false;       // they are not the plain ones
  std::string gemm, problem;  // what computes large matrix products, or why nothing can
  std::string openblas, openblas_problem;  // the kernels of the library, or why it is not used
  std::string onednn, onednn_problem;
};

// Loads the libraries, where nothing did before.
KernelChoice kernel_choice();

// The products of kernels/blas.h.
HostProducts host_products();

}  // namespace paddle
