// What a module for a GPU exports; in no program (ops/meson.build).
#include "graph/gpu_module.h"

#include "base/build_info.h"
#include "kernels/cuda/open_gpu.h"

extern "C" __attribute__((visibility("default"))) const paddle::GpuModule* paddle_gpu_module() {
  static const paddle::GpuModule module = {paddle::version, paddle::cuda::count_gpus,
                                           paddle::cuda::open_gpu, paddle::find_op_def};
  return &module;
}
