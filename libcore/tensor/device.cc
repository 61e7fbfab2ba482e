#include "tensor/device.h"

namespace paddle {

void* Scratch::bytes(size_t n) {
  if (memory_.empty() || memory_.bytes() < n)
    memory_ = Tensor(DType::u8, {static_cast<int64_t>(n + n / 2 + 64)});
  return memory_.raw();
}

}  // namespace paddle
