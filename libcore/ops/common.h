// Shape rules and lookups that many op families share.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "graph/op_def.h"

namespace paddle {

// Out has the shape, type and LoD of X.
void infer_same(Infer& i);
// For a gradient op: every output "S@GRAD" is like the input "S", or like "Out@GRAD" where "S" is
// no input.
void infer_grad_same(Infer& i);

// Whether the gradient of a forward input is wanted.
using Want = std::function<bool(const std::string&)>;

// For make_grad: the gradient of the input `name` is `factor` times that of Out.
Op scaled_grad(const Op& forward, const std::string& name, float factor);

// Calls f(T{}) for float32, float64, int32 and int64.
template <class F>
decltype(auto) with_number(DType t, const F& f) {
  switch (t) {
    case DType::f32: return f(float{});
    case DType::f64: return f(double{});
    case DType::i32: return f(int32_t{});
    case DType::i64: return f(int64_t{});
    default: refuse_dtype(t, "float32, float64, int32 or int64");
  }
}

// Numbers of a shape rule that may be given as tensors: those of the tensor in slot `whole`, else
// those of the one-element tensors in slot `parts`, else the attribute. A slot name may be "".
struct GivenNumbers {
  std::string whole, parts, attr;

  bool by_tensor(const Op& op) const { return op.in.has(whole) || op.in.has(parts); }
  // Nothing where they are known only when a plan is laid out.
  std::optional<Longs> get(const Infer& i) const;
  // How many there are; -1 if that is not known either.
  int64_t count(const Infer& i) const;
  // The slots, as optional ones of a definition.
  std::vector<SlotDef> slots() const;
  std::vector<std::string> slot_names() const;
};
// The same for a kernel, which must not read the attribute where there is a tensor.
class GivenNumbersArg {
 public:
  GivenNumbersArg(const Bind& b, const GivenNumbers& given);
  Longs get(const Run& r) const;

 private:
  Arg whole_, parts_;
  Longs attr_;
};

// Out has the shape of the attribute "shape", or of the tensors in its place (`shape_numbers`), and
// the type of "dtype".
extern const GivenNumbers shape_numbers;
void infer_shape_attr(Infer& i);
// The same, with dimension "output_dim_idx" as long as dimension "input_dim_idx" of Input.
void infer_shape_like_batch(Infer& i);

// The element type named by an attribute of an op ("dtype", "out_dtype").
DType dtype_attr(const Attrs& attrs, std::string_view name);

// An axis counted from the end where it is negative; fails outside [-rank, rank).
int resolve_axis(const Infer& i, int axis, int rank);

}  // namespace paddle
