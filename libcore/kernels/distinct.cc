#include "kernels/distinct.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/random.h"
#include "kernels/simd.h"

namespace paddle {
namespace {

// At most half of the slots are in use.
uint64_t slots_for(int64_t capacity) {
  return std::bit_ceil(2 * static_cast<uint64_t>(std::max<int64_t>(capacity, 1)));
}

struct SumNumbered {
  PS_INLINE void operator()(const int64_t* numbers, int64_t count, int64_t width,
                            const float* values, int64_t rows, float* sums,
                            unsigned char* seen) const {
    for (int64_t i = 0; i < count; ++i, values += width) {
      const int64_t row = numbers[i] - 1;
      if (row < 0 || row >= rows) continue;
      float* sum = sums + row * width;
      if (seen[row] == 0) {  // the first is copied: 0 + -0 would be 0
        seen[row] = 1;
        std::memcpy(sum, values, static_cast<size_t>(width) * sizeof(float));
        continue;
      }
      PS_IVDEP
      for (int64_t j = 0; j < width; ++j) sum[j] += values[j];
    }
  }
};

}  // namespace

size_t id_numbers_bytes(int64_t capacity) { return slots_for(capacity) * sizeof(uint32_t); }

IdNumbers::IdNumbers(int64_t capacity, void* scratch, int64_t* distinct)
    : slots_(static_cast<uint32_t*>(scratch)), mask_(slots_for(capacity) - 1), distinct_(distinct) {
  std::fill_n(slots_, mask_ + 1, 0u);
}

void IdNumbers::add(const Device&, const int64_t* ids, int64_t count,
                    std::optional<int64_t> padding, int64_t* numbers) {
  const bool pads = padding.has_value();  // any number is an id, so none can stand for "no padding"
  const int64_t pad = padding.value_or(0);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t id = ids[i];
    if (pads && id == pad) {
      numbers[i] = 0;
      continue;
    }
    uint64_t at = mix64(static_cast<uint64_t>(id)) & mask_;
    while (slots_[at] != 0 && distinct_[slots_[at] - 1] != id) at = (at + 1) & mask_;
    if (slots_[at] == 0) {
      distinct_[count_++] = id;
      slots_[at] = static_cast<uint32_t>(count_);
    }
    numbers[i] = slots_[at];
  }
}

void sum_numbered(const Device&, const int64_t* numbers, int64_t count, int64_t width,
                  const float* values, int64_t rows, float* sums, unsigned char* seen) {
  std::fill_n(seen, rows, 0);
  run_loop<worth_clones<float>>(SumNumbered{}, numbers, count, width, values, rows, sums, seen);
  for (int64_t row = 0; row < rows; ++row)
    if (seen[row] == 0) std::fill_n(sums + row * width, width, 0.0f);
}

}  // namespace paddle
