#include "tensor/device.h"

namespace paddle {

void* Scratch::bytes(size_t n) {
  if (accelerator_) {
    if (!device_memory_.holds(accelerator_, n))
      device_memory_.reserve(accelerator_, n + n / 2 + 64);
    return device_memory_.data();
  }
  if (memory_.empty() || memory_.bytes() < n)
    memory_ = Tensor(DType::u8, {static_cast<int64_t>(n + n / 2 + 64)});
  return memory_.raw();
}

}  // namespace paddle
