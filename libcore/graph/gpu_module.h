// What a module for a GPU gives to the programs that load it (exec/gpu.h): the device, and a table
// of op definitions whose kernels run there. A module is built from the sources of kernels/ and
// ops/ together with the programs, and is good for programs of the same build alone.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "graph/op_def.h"
#include "tensor/device.h"

namespace paddle {

struct GpuModule {
  const char* version;  // of the sources
  // How many devices there are; `why` says why there are none.
  int (*count)(std::string& why);
  // Throws Error(config) where there is no device of that number.
  std::shared_ptr<Accelerator> (*open)(int index, const HostProducts& products,
                                       const GpuOptions& options);
  // The definition of an op that has a kernel for the device, or null.
  const OpDef* (*find_op)(std::string_view type);
};

// The one function that a module exports, by this name.
inline constexpr const char* gpu_module_symbol = "paddle_gpu_module";
using GetGpuModule = const GpuModule* (*)();

}  // namespace paddle
