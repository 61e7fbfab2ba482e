// Shape inference: one op's view of its arguments, at build time (lengths may be -1) and again for
// each set of feed shapes that a plan is laid out for.
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "graph/op.h"
#include "graph/var.h"
#include "tensor/tensor.h"

namespace paddle {

// What is known of one variable.
struct Meta {
  VarKind kind = VarKind::lod_tensor;  // lod_tensor or selected_rows
  DType dtype = DType::f32;
  Shape shape;  // of the tensor, or of the value of selected rows
  int32_t lod_level = 0;
  const Lod* lod = nullptr;  // the offsets; null at build time and where there are none
  int64_t height = 0;        // selected rows: rows of the whole table
  // The elements, where they are known before kernels run: of variables that shapes depend on,
  // while a plan is laid out. Else null.
  const Tensor* value = nullptr;
};

class Infer {
 public:
  // The lists go slot after slot, in the order of the op's own. `lods` owns the offsets that shape
  // rules make; none are made at build time.
  Infer(const Op& op, std::span<Meta* const> in, std::span<Meta* const> out,
        std::deque<Lod>* lods = nullptr)
      : op_(op), in_(in), out_(out), lods_(lods) {}

  const Op& op() const { return op_; }
  bool has(std::string_view slot) const { return op_.in.has(slot); }
  bool has_out(std::string_view slot) const { return op_.out.has(slot); }
  int count(std::string_view slot) const { return static_cast<int>(op_.in[slot].size()); }
  int count_out(std::string_view slot) const { return static_cast<int>(op_.out[slot].size()); }
  const Meta& in(std::string_view slot, int i = 0) const;
  const Shape& shape(std::string_view slot, int i = 0) const { return in(slot, i).shape; }
  DType dtype(std::string_view slot, int i = 0) const { return in(slot, i).dtype; }

  // The elements of an integer tensor that the rule computes with (its slot is listed in the
  // definition's `shape_values`); nothing where they are not known yet.
  std::optional<Longs> values(std::string_view slot, int i = 0) const;

  template <class T>
  T attr(std::string_view name) const {
    return op_.attrs.get<T>(name);
  }

  // Says what an output is. Outputs that the op does not list are passed over.
  void out(std::string_view slot, const Shape& shape, DType dtype, int i = 0);
  // Output as an input: shape, type, LoD and kind.
  void out_like(std::string_view out_slot, std::string_view in_slot, int i = 0);
  void out_rows(std::string_view slot, const Shape& value, DType dtype, int64_t height);
  void share_lod(std::string_view in_slot, std::string_view out_slot, int i = 0);
  Meta& out_meta(std::string_view slot, int i = 0);
  // Gives an output offsets of its own. A shape rule that reads the values of offsets, not only
  // their number, must call this: the plan then follows every change of a feed's LoD.
  void make_lod(std::string_view slot, Lod lod);

  // Throws Error(config): "op mul: <parts>", with the op's variables named by whoever called infer.
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    raise_error(Error::Kind::config,
                {text_part("op "), text_part(op_.type), text_part(": "), text_part(parts)...});
  }
  template <class... Parts>
  void check(bool ok, const Parts&... parts) const {
    if (!ok) fail(parts...);
  }
  // "X (x) [2, 3]": a slot with its variable and shape, for messages.
  std::string describe(std::string_view slot, int i = 0) const;
  // Fails unless the lengths agree, where both are known.
  void check_same(std::string_view slot_a, std::string_view slot_b) const;

 private:
  const Op& op_;
  std::span<Meta*const> in_, out_;
  std::deque<Lod>* lods_;
};

// A gradient op is bound by its forward op: fails where a result "S" of it or a gradient "S@GRAD"
// is given with another shape or type than the inputs lead to. Kernels rely on it.
void check_gradients(const Infer& infer);

// Where the i-th variable of `slot` stands in a list made slot after slot, or -1.
int flat_index(const Slots& slots, std::string_view slot, int i);

}  // namespace paddle
