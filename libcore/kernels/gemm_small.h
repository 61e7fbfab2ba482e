// Matrix products too small to be worth packing.
#pragma once

#include <cstdint>

#include "kernels/product.h"

namespace paddle {

// c = beta * c: all there is to do where k or alpha is 0.
void scale_result(const Product<float>& p);
void scale_result(const Product<double>& p);

// Any product, by plain loops: for those of a few dozen operations.
void gemm_plain(const Product<float>& p);
void gemm_plain(const Product<double>& p);

}  // namespace paddle
