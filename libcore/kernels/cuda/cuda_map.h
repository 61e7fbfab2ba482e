// Loops over arrays in the memory of a GPU, for code that g++ compiles. Nothing calls them yet:
// there is no executor path for GPUs, and the library that holds them is not linked into any
// program. They are built to prove that nvcc reads the functors that the CPU runs.
#pragma once

#include <cstdint>

namespace paddle::cuda {

using Stream = void*;  // a cudaStream_t; null is the default stream

enum class Unary { exp, tanh, sigmoid, log };  // those of kernels/math.h

// All return at once; the work stands behind what the stream has to do already. They throw
// Error(io) where the GPU refuses it.
void map(Stream stream, Unary f, int64_t n, const float* in, float* out);
void map(Stream stream, Unary f, int64_t n, const double* in, double* out);
void fill(Stream stream, int64_t n, float value, float* out);
void fill(Stream stream, int64_t n, double value, double* out);
void fill(Stream stream, int64_t n, int64_t value, int64_t* out);

}  // namespace paddle::cuda
