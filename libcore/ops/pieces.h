// Several arrays in the scratch memory of one call, which gives one block at a time.
#pragma once

#include "graph/kernel.h"

namespace paddle {

class Pieces {
 public:
  // Bytes that an array of `n` elements takes of the block.
  template <class T>
  static int64_t bytes(int64_t n) {
    constexpr int64_t line = 64;
    return (n * static_cast<int64_t>(sizeof(T)) + line - 1) / line * line;
  }
  // A block of `total` bytes: the sum of bytes() of all arrays.
  Pieces(const Run& r, int64_t total) : next_(r.scratch.get<char>(total)) {}
  template <class T>
  T* take(int64_t n) {
    char* const begin = next_;
    next_ += bytes<T>(n);
    return reinterpret_cast<T*>(begin);
  }

 private:
  char* next_;
};

}  // namespace paddle
