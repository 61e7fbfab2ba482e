// The devices that a module has: cuda_gpu.cc or emulated_gpu.cc.
#pragma once

#include <memory>
#include <string>

#include "tensor/device.h"

namespace paddle::cuda {

// How many there are; `why` says why there are none.
int count_gpus(std::string& why);

// Throws Error(config) where there is no device of that number.
std::shared_ptr<Accelerator> open_gpu(int index, const HostProducts& products,
                                      const GpuOptions& options);

}  // namespace paddle::cuda
