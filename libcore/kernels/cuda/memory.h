// kernels/memory.h on a GPU.
#pragma once

#include "kernels/cuda/map.h"
#include "kernels/cuda/search.h"

namespace paddle {
namespace cuda {

template <class T>
struct Constant {
  T value;
  PS_HD T operator()() const { return value; }
};

template <class T>
struct Equals {
  const T* x;
  T value;
  bool equal;
  PS_HD bool operator()(int64_t i) const { return (x[i] == value) == equal; }
};

}  // namespace cuda

template <class T>
void fill(const Device& device, int64_t n, T* out, T value) {
  map(device, n, cuda::Constant<T>{value}, out);
}

inline void copy_elements(const Device& device, int64_t n, size_t size, void* out, const void* in) {
  if (n > 0 && out != in) device.accelerator().copy(out, in, static_cast<size_t>(n) * size);
}

template <class T>
void copy(const Device& device, int64_t n, T* out, const T* in) {
  copy_elements(device, n, sizeof(T), out, in);
}

template <class T>
T read_one(const Device& device, const T* from) {
  T value;
  device.accelerator().download(&value, from, sizeof value);
  return value;
}

template <class T>
void write_all(const Device& device, int64_t n, const T* host, T* to) {
  if (n > 0) device.accelerator().upload(to, host, static_cast<size_t>(n) * sizeof(T));
}

template <class T>
void write_one(const Device& device, T value, T* to) {
  write_all(device, 1, &value, to);
}

template <class T>
int64_t find_value(const Device& device, int64_t n, const T* x, T value) {
  return cuda::first_where(device, n, cuda::Equals<T>{x, value, true});
}

template <class T>
int64_t count_other(const Device& device, int64_t n, const T* x, T value) {
  return cuda::count_where(device, n, cuda::Equals<T>{x, value, false});
}

}  // namespace paddle
