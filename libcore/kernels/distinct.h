// Ids that repeat, numbered by their first occurrence: 1, 2, … So the rows of a table that a batch
// needs become a small matrix, and 0 is left for padding. Nothing here allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "tensor/device.h"

namespace paddle {

// Bytes of scratch (aligned to 8) that the numbers of at most `capacity` ids need.
size_t id_numbers_bytes(int64_t capacity);

class IdNumbers {
 public:
  // `distinct` takes the ids in the order of their numbers, at most `capacity`.
  IdNumbers(int64_t capacity, void* scratch, int64_t* distinct);

  // numbers[i] = the number of ids[i]; 0 for `padding`.
  void add(const Device& device, const int64_t* ids, int64_t count, std::optional<int64_t> padding,
           int64_t* numbers);
  int64_t count() const { return count_; }

 private:
  uint32_t* slots_;  // the numbers, by the hash of their ids; 0 = free
  uint64_t mask_;
  int64_t* distinct_;
  int64_t count_ = 0;
};

// sums[k, :] = the sum, in order of i, of values[i, :] with numbers[i] = k + 1, for k in [0, rows);
// 0 where there is none. `seen` has room for `rows` bytes.
void sum_numbered(const Device& device, const int64_t* numbers, int64_t count, int64_t width,
                  const float* values, int64_t rows, float* sums, unsigned char* seen);

}  // namespace paddle
