// paddle._core: what the package's Python files are written over.
#include <malloc.h>

#include "base/version.h"
#include "bindings.h"
#include "options/environment.h"

namespace {

// Batches of a pass, and what readers hold, are freed and allocated again. So the memory stays with
// the process: returning it and touching it anew costs a twentieth of recognize_digits. The
// variables of malloc take precedence.
void keep_freed_memory() {
#ifdef __GLIBC__
  for (const auto& [name, value] : paddle::current_environment())
    if (name.starts_with("MALLOC_") || name == "GLIBC_TUNABLES") return;
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
#endif
}

}  // namespace

PYBIND11_MODULE(_core, m) {
  keep_freed_memory();
  m.doc() = "The C++ core: programs, layers, executor, files. Use paddle.fluid instead.";
  m.attr("version") = paddle::version_text();
  paddle::bind_errors(m);
  paddle::bind_program(m);
  paddle::bind_layers(m);
  paddle::bind_tensor(m);
  paddle::bind_transpile(m);  // before the executor, whose run() names its Job
  paddle::bind_serve(m);
  paddle::bind_shard_files(m);
  paddle::bind_executor(m);
  paddle::bind_data(m);
  paddle::bind_dataset(m);
  paddle::bind_options(m);
  paddle::bind_io(m);
}
