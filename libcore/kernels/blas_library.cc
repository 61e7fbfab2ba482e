#include "kernels/blas_library.h"

#include <dlfcn.h>

#include <array>
#include <cstdlib>

#include "kernels/blas_config.h"
#include "kernels/cpu.h"

namespace paddle {
namespace {

// Sets an environment variable while a library is loaded, unless the user has set it; children
// never see ours.
class LoadTimeEnv {
 public:
  LoadTimeEnv(const char* name, const char* value)
      : name_(name), ours_(value != nullptr && std::getenv(name) == nullptr) {
    if (ours_) setenv(name, value, 0);
  }
  ~LoadTimeEnv() {
    if (ours_) unsetenv(name_);
  }
  LoadTimeEnv(const LoadTimeEnv&) = delete;
  LoadTimeEnv& operator=(const LoadTimeEnv&) = delete;

 private:
  const char* name_;
  bool ours_;
};

// OpenBLAS takes slow generic kernels on CPUs younger than itself, unless a core type is set.
const char* core_type() {
  switch (cpu_isa()) {
    case Isa::avx512: return "SkylakeX";
    case Isa::avx2: return "Haswell";
    case Isa::avx: return "Sandybridge";
    case Isa::base: break;
  }
  return nullptr;
}

template <class Function>
Function symbol(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

OpenBlas load_openblas() {
  const LoadTimeEnv core("OPENBLAS_CORETYPE", core_type());
  const LoadTimeEnv threads("OPENBLAS_NUM_THREADS", "1");
  void* library = nullptr;
  if (openblas_dir[0] != '\0')
    library = dlopen((std::string(openblas_dir) + "/libopenblas.so.0").c_str(), RTLD_NOW);
  if (library == nullptr) library = dlopen("libopenblas.so.0", RTLD_NOW);
  OpenBlas blas;
  if (library == nullptr) {
    blas.problem = dlerror();
    return blas;
  }
  blas.sgemm = symbol<OpenBlas::Sgemm>(library, "cblas_sgemm");
  blas.dgemm = symbol<OpenBlas::Dgemm>(library, "cblas_dgemm");
  if (blas.sgemm == nullptr || blas.dgemm == nullptr) blas.problem = "it has no cblas_sgemm";
  // Someone else may have loaded it before us, with as many threads as cores.
  if (const auto set = symbol<void (*)(int)>(library, "openblas_set_num_threads")) set(1);
  if (const auto name = symbol<char* (*)()>(library, "openblas_get_corename")) blas.core = name();
  return blas;
}

std::string isa_name(int isa) {
  // dnnl_cpu_isa_t; later ones add bits above these.
  constexpr std::array<std::pair<int, const char*>, 4> names{
      {{0x27, "avx512_core"}, {0x7, "avx2"}, {0x3, "avx"}, {0x1, "sse41"}}};
  for (const auto& [bits, name] : names)
    if ((isa & bits) == bits) return name;
  return "generic";
}

OneDnn load_onednn() {
  OneDnn dnn;
  if (!use_onednn) {
    dnn.problem = "this build was configured without it";
    return dnn;
  }
  void* library = nullptr;
  for (const char* name : {"libdnnl.so.2", "libdnnl.so.3", "libdnnl.so"})
    if (library == nullptr) library = dlopen(name, RTLD_NOW);
  if (library == nullptr) {
    dnn.problem = dlerror();
    return dnn;
  }
  dnn.sgemm = symbol<OneDnn::Sgemm>(library, "dnnl_sgemm");
  if (dnn.sgemm == nullptr) dnn.problem = "it has no dnnl_sgemm";
  // dlsym also looks into what the library depends on.
  dnn.max_threads = symbol<int (*)()>(library, "omp_get_max_threads");
  dnn.set_threads = symbol<void (*)(int)>(library, "omp_set_num_threads");
  if (const auto isa = symbol<int (*)()>(library, "dnnl_get_effective_cpu_isa"))
    dnn.isa = isa_name(isa());
  return dnn;
}

}  // namespace

const OpenBlas& openblas() {
  static const OpenBlas blas = load_openblas();
  return blas;
}

const OneDnn& onednn() {
  static const OneDnn dnn = load_onednn();
  return dnn;
}

}  // namespace paddle
