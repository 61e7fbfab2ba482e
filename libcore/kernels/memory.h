// Memory of a device as a whole: filled, copied, and the few numbers that pass between it and the
// host.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "tensor/device.h"

#ifndef PS_GPU

namespace paddle {

// out[i] = value for each of n elements.
template <class T>
void fill(const Device&, int64_t n, T* out, T value) {
  std::fill_n(out, n, value);
}

// out[i] = in[i] for n elements of one type, both in the device's memory; nothing to do where they
// are the same memory. Other overlaps are not allowed.
template <class T>
void copy(const Device&, int64_t n, T* out, const T* in) {
  if (out != in) std::copy_n(in, n, out);
}

// The same for n elements of `size` bytes, whatever they are.
inline void copy_elements(const Device&, int64_t n, size_t size, void* out, const void* in) {
  if (n > 0 && out != in) std::memcpy(out, in, static_cast<size_t>(n) * size);
}

// One number for the host: waits until the device has computed it.
template <class T>
T read_one(const Device&, const T* from) {
  return *from;
}

// Numbers of the host into the device's memory.
template <class T>
void write_one(const Device&, T value, T* to) {
  *to = value;
}
template <class T>
void write_all(const Device&, int64_t n, const T* host, T* to) {
  std::copy_n(host, n, to);
}

// The first i with x[i] == value; -1 if there is none.
template <class T>
int64_t find_value(const Device&, int64_t n, const T* x, T value) {
  const T* found = std::find(x, x + n, value);
  return found == x + n ? -1 : found - x;
}

// How many x[i] differ from `value`.
template <class T>
int64_t count_other(const Device&, int64_t n, const T* x, T value) {
  return n - std::count(x, x + n, value);
}

}  // namespace paddle

#endif

#ifdef PS_GPU
#include "kernels/cuda/memory.h"
#endif
