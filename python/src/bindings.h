// The extension module paddle._core: one file per topic, each with a bind_* function. Handles look
// up what they stand for at every use, so that Python never holds a pointer that can dangle.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "convert.h"
#include "exec/executor.h"
#include "exec/gpu.h"
#include "graph/program.h"
#include "tensor/scope.h"
#include "trainer/dataset_pass.h"

namespace paddle {

// A program as Python holds it (by shared_ptr: Block, Var and Op handles keep it alive).
struct PyProgram : Program {
  PyProgram() = default;
  explicit PyProgram(Program p) : Program(std::move(p)) {}
  uint64_t next_step = 0;  // of the next run: selects the random numbers of dropout
};
using ProgramPtr = std::shared_ptr<PyProgram>;
inline ProgramPtr program_ptr(Program p) { return std::make_shared<PyProgram>(std::move(p)); }

struct PyBlock {
  ProgramPtr program;
  int32_t idx = 0;
  Block& get() const { return program->block(idx); }
};

struct PyOp {
  ProgramPtr program;
  int32_t block = 0;
  const Op* op = nullptr;
  // Its place; throws Error(config) where the op was removed.
  size_t index() const;
  Op& get() const;
};
PyOp op_handle(const ProgramPtr& program, int32_t block, const Op& op);

class PyJob;  // a trainer's part in a job with pservers: job.h

// A scope as Python holds it. The mutex is held while a program runs in it or a value is looked up.
struct PyScope : std::enable_shared_from_this<PyScope> {
  Scope scope;
  std::mutex mutex;
  std::shared_ptr<PyScope> parent;  // kids see its variables
  std::weak_ptr<PyJob> job;         // the last one that trained in it
  // This scope's or an ancestor's that has the variable, or null.
  std::shared_ptr<PyScope> holder(const std::string& name);
};
using ScopePtr = std::shared_ptr<PyScope>;

// Locks without ever waiting for it with the GIL held: the thread that has the mutex may need it.
std::unique_lock<std::mutex> locked(std::mutex& mutex);

// A tensor of its own, or that of a variable in a scope.
class PyTensor {
 public:
  PyTensor() = default;
  explicit PyTensor(Tensor t) : own_(std::move(t)) {}
  PyTensor(ScopePtr scope, std::string name) : scope_(std::move(scope)), name_(std::move(name)) {}

  Tensor get() const;  // a handle on the same memory
  void set(Tensor tensor);

 private:
  ScopePtr scope_;
  std::string name_;
  Tensor own_;
};

// An executor as Python holds it.
class PyExecutor {
 public:
  // `gpu` may be null.
  PyExecutor(int threads, bool check_nan_inf, bool profile, std::shared_ptr<Gpu> gpu);
  // `step` < 0: the program's own count.
  py::list run(const ProgramPtr& program, const ScopePtr& scope, const py::dict& feed,
               const py::list& fetch, bool return_numpy, int64_t step,
               const std::shared_ptr<PyJob>& job);
  bool has_gpu() const { return has_gpu_; }
  // A pass of `job`'s steps over a data set, or, where it is null, of the program's own. Called
  // without the GIL.
  int64_t run_pass(const ProgramPtr& program, const ScopePtr& scope, std::vector<NextBatch> sources,
                   const PassOptions& options, const std::shared_ptr<PyJob>& job);
  std::vector<OpCost> profile();

 private:
  void join(const ScopePtr& scope, const std::shared_ptr<PyJob>& job);

  const bool has_gpu_;
  std::mutex mutex_;
  std::shared_ptr<PyJob> job_;  // plans point at it
  std::unique_ptr<Executor> executor_;
};

void bind_errors(py::module_& m);
void bind_program(py::module_& m);
void bind_layers(py::module_& m);
void bind_tensor(py::module_& m);
void bind_executor(py::module_& m);
void bind_data(py::module_& m);
void bind_dataset(py::module_& m);
void bind_options(py::module_& m);
void bind_io(py::module_& m);
void bind_transpile(py::module_& m);
void bind_serve(py::module_& m);
void bind_shard_files(py::module_& m);

}  // namespace paddle
