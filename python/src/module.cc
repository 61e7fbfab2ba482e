// paddle._core: what the package's Python files are written over.
#include "base/version.h"
#include "bindings.h"

PYBIND11_MODULE(_core, m) {
  m.doc() = "The C++ core: programs, layers, executor, files. Use paddle.fluid instead.";
  m.attr("version") = paddle::version_text();
  paddle::bind_errors(m);
  paddle::bind_program(m);
  paddle::bind_layers(m);
  paddle::bind_tensor(m);
  paddle::bind_transpile(m);  // before the executor, whose run() names its Job
  paddle::bind_serve(m);
  paddle::bind_executor(m);
  paddle::bind_data(m);
  paddle::bind_dataset(m);
  paddle::bind_options(m);
  paddle::bind_io(m);
}
