// What a kernel is given. An op's `bind` looks up slots, types and attributes once and returns a
// closure; the plan calls the closure every step. Shapes are read from the views at run time, so
// one binding serves every batch size.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "graph/op.h"
#include "tensor/device.h"
#include "tensor/tensor.h"

namespace paddle {

// A variable as a kernel sees it: memory laid out by the plan.
struct View {
  void* data = nullptr;
  DType dtype = DType::f32;
  Shape shape;
  const Lod* lod = nullptr;  // null where the variable is no sequence
  const int64_t* rows =
      nullptr;         // selected rows: shape[0] ids; the kernel that makes the variable sets it
  int64_t height = 0;  // selected rows: rows of the whole table
  int64_t* row_buffer =
      nullptr;  // selected rows: memory for shape[0] ids, for kernels that have none to point at
  bool is_rows = false;

  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
  int64_t numel() const { return shape.numel(); }
};

// The place of an argument in an op's list; `absent` where an optional slot is empty.
struct Arg {
  int first = -1;
  int count = 0;
  explicit operator bool() const { return first >= 0; }
};

// Where gradients go and parameters come from when they are kept outside of the plan: by pservers,
// or, tables of a process without pservers, by the process itself. `param` is an index into
// Program::exchanged, `table` into Program::tables. All may throw Error(peer).
class Remote {
 public:
  virtual ~Remote() = default;
  // How long the memory of a gradient stays as it is: until ...
  enum class ReadUntil : uint8_t {
    pushed,    // push() has returned
    pulled,    // the pull of the same parameter in the next step has returned
    answered,  // await_answer() has returned, which is called before the next gradient is computed
  };
  // Asked once, when a plan is made.
  virtual ReadUntil read_until(int32_t /*param*/) const { return ReadUntil::pulled; }
  // The gradient of this step is complete.
  virtual void push(int32_t param, const View& grad, uint64_t step) = 0;
  // Returns when the gradient that was pushed last is not read any more.
  virtual void await_answer(int32_t /*param*/, uint64_t /*step*/) {}
  // Returns when `value` holds the version that `step` computes with.
  virtual void pull(int32_t param, const View& value, uint64_t step) = 0;
  // The rows of distinct ids as `step` computes with them, one behind the other.
  virtual void pull_rows(int32_t table, std::span<const uint64_t> ids, float* rows, uint64_t step);
  // Distinct ids that `step`, which comes next, will pull, where they are known before it begins:
  // their rows may be fetched meanwhile. What is announced need not come true.
  virtual void announce_rows(int32_t table, std::span<const uint64_t> ids, uint64_t step);
  // Whether announcements are of use.
  virtual bool takes_announcements() const { return false; }
  // The learning rate of a table's next push, where the program itself computes it.
  virtual void set_rate(int32_t /*table*/, float /*rate*/) {}
  // Whether rows are updated with that rate; asked once, when a plan is made.
  virtual bool takes_rates() const { return false; }
  // The gradients of pulled rows of this step, one row per id of the pull of the same step. Called
  // once per table and step, also where there are no ids. The memory may be used anew when it
  // returns.
  virtual void push_rows(int32_t table, std::span<const uint64_t> ids, const float* grads,
                         uint64_t step);
};

// One call of a kernel.
class Run {
 public:
  Run(View* const* args, const Device& device, Scratch& scratch, uint64_t seed, uint64_t step,
      Remote* remote = nullptr)
      : scratch(scratch), seed(seed), remote(remote), args_(args), device_(device), step_(step) {}

  // So that ops write map(r, ...), gemm(r, ...): the calls of kernels/ take a device.
  operator const Device&() const { return device_; }

  View& operator[](Arg a) const { return *args_[a.first]; }
  View& at(Arg a, int i) const { return *args_[a.first + i]; }

  Scratch& scratch;
  uint64_t seed;   // of the program and this op
  Remote* remote;  // null where the plan runs without pservers

  // Of training: the same step draws the same random numbers, also after a restart.
  uint64_t step() const {
    asked_for_step_ = true;
    return step_;
  }
  // Whether the kernel does not do the same in every step.
  bool asked_for_step() const { return asked_for_step_; }

 private:
  View* const* args_;
  const Device& device_;
  uint64_t step_;
  mutable bool asked_for_step_ = false;
};

using Kernel = std::function<void(const Run&)>;

// What is known when a kernel is chosen: slots, attributes and element types, not shapes.
class Bind {
 public:
  Bind(const Op& op, std::vector<DType> in_types, std::vector<DType> out_types,
       std::vector<bool> in_rows, uint32_t program_seed)
      : op_(op),
        in_types_(std::move(in_types)),
        out_types_(std::move(out_types)),
        in_rows_(std::move(in_rows)),
        program_seed_(program_seed) {}

  const Op& op() const { return op_; }
  Arg in(std::string_view slot) const;  // absent where the op has none
  Arg out(std::string_view slot) const;
  DType dtype(std::string_view in_slot, int i = 0) const;
  DType out_dtype(std::string_view out_slot, int i = 0) const;
  bool is_rows(std::string_view in_slot,
               int i = 0) const;  // selected rows rather than a dense tensor
  uint32_t program_seed() const { return program_seed_; }

  template <class T>
  T attr(std::string_view name) const {
    return op_.attrs.get<T>(name);
  }

 private:
  const Op& op_;
  std::vector<DType> in_types_, out_types_;
  std::vector<bool> in_rows_;
  uint32_t program_seed_;
};

}  // namespace paddle
