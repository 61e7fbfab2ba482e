#include "base/version.h"

#include "base/build_info.h"
#include "base/error.h"

namespace paddle {
namespace {

// The kernels hold an AVX form beside the plain one and choose at start, unless they were built for
// one kind of CPU.
#if (defined(__x86_64__) && !defined(PS_ONE_ISA)) || defined(__AVX__)
constexpr bool built_with_avx = true;
#else
constexpr bool built_with_avx = false;
#endif

}  // namespace

std::string version_text() { return version; }

std::string version_block(bool with_gpu) {
  struct Feature {
    const char* name;
    bool on;
  };
  const Feature features[] = {
      {"avx", built_with_avx},
      {"gpu", with_gpu},
      {"mkl", false},  // matrix products come from OpenBLAS and oneDNN
      {"mkldnn", built_with_onednn},
      {"double", false},  // parameters are float32 unless a job says otherwise
      {"python", built_with_python},
      {"rdma", false},
      {"timer", false},
  };
  std::string block = text("PaddlePaddle ", version, ", compiled with\n");
  for (const Feature& f : features)
    block += text("    with_", f.name, ": ", f.on ? "ON" : "OFF", "\n");
  return block;
}

}  // namespace paddle
