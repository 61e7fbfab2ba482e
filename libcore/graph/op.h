// One op of a program: a type, named lists of input and output variables, attributes.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/attr.h"

namespace paddle {

using Names = std::vector<std::string>;

// Slot name -> variable names, in the order given.
class Slots {
 public:
  using Entry = std::pair<std::string, Names>;

  Slots() = default;
  Slots(std::initializer_list<Entry> entries) : entries_(entries) {}

  // The names in a slot; an empty list where the slot is not there.
  const Names& operator[](std::string_view slot) const;
  bool has(std::string_view slot) const { return !(*this)[slot].empty(); }
  void set(std::string_view slot, Names names);
  void rename(std::string_view from, std::string_view to);
  bool uses(std::string_view name) const;
  Names all() const;  // every name, slot after slot

  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  size_t size() const { return entries_.size(); }
  bool operator==(const Slots&) const = default;

 private:
  std::vector<Entry> entries_;
};

// What part of training an op belongs to; the transpiler cuts by it. Values as in saved models;
// they may be combined.
namespace role {
constexpr int32_t forward = 0, backward = 1, optimize = 2, rpc = 4, dist = 8, lr_sched = 16,
                  loss = 256, not_specified = 4096;
inline constexpr std::string_view attr = "op_role", var_attr = "op_role_var",
                                  scope_attr = "op_namescope", callstack_attr = "op_callstack";
}  // namespace role

struct Op {
  std::string type;
  Slots in, out;
  Attrs attrs;
  bool is_target = false;
  std::string foreign;  // fields of the saved record that we only carry along
  // Where a user wrote it, "train.py:12: y = fc(x)", for messages; "" where nobody knows. Not part
  // of the program: neither saved nor compared.
  std::string origin = {};

  int32_t role() const { return attrs.get<int32_t>(role::attr, role::forward); }
  bool operator==(const Op& o) const {
    return type == o.type && in == o.in && out == o.out && attrs == o.attrs &&
           is_target == o.is_target && foreign == o.foreign;
  }
};

// "mul: Out=[fc_0.tmp_0] <- X=[x], Y=[fc_0.w_0]"
std::string op_text(const Op& op);
// The same with the op's origin: "mul: …, made at train.py:12: y = fc(x)".
std::string op_with_origin(const Op& op);

// The gradient of `name`, and the empty name that stands for "no gradient wanted".
inline std::string grad_name(std::string_view name) { return std::string(name) + "@GRAD"; }
inline constexpr std::string_view empty_name = "@EMPTY@";

}  // namespace paddle
