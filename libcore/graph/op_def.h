// What the project knows of an op type: slots, attributes, shape rule, kernel, gradient. An op is
// data in one place (ops/<family>.cc); everything else asks here.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/infer.h"
#include "graph/kernel.h"
#include "graph/op.h"

namespace paddle {

struct SlotDef {
  enum Flag : int {
    one = 0,
    many = 1,         // takes a list
    optional = 2,     // may be absent
    intermediate = 4  // an output that only the gradient needs
  };
  std::string name;
  int flags = one;
};

// How the gradient op is made of a forward op: declared by slot names. "X" takes the forward op's
// X, "Out@GRAD" the gradients of its Out; outputs are named the same way, "X@GRAD" gives the
// gradient of X. Attributes are copied.
struct GradRule {
  std::string type;  // "" = no gradient
  std::vector<std::string> inputs, outputs;
};

struct OpDef {
  std::string type;
  std::vector<SlotDef> in, out;
  Attrs attrs;  // names, types and defaults; a required one is in `required_attrs`
  void (*infer)(Infer&) = nullptr;
  Kernel (*bind)(const Bind&) = nullptr;
  GradRule grad = {};
  // For gradients that are not one op of copied attributes; used instead of `grad` when set.
  // `want(name)` says whether the gradient of a forward input is wanted.
  std::vector<Op> (*make_grad)(const Op& forward,
                               const std::function<bool(const std::string&)>& want) = nullptr;
  // Pairs {input slot, output slot} that may share memory: the kernel is right when they do.
  std::vector<std::pair<std::string, std::string>> inplace = {};
  // Pairs {input slot, output slot}: the output keeps pointing into the input's memory (the rows of
  // a sparse gradient are the ids themselves), so that memory must live as long.
  std::vector<std::pair<std::string, std::string>> borrows = {};
  // Input slots of which only the shape is read: their memory may be gone.
  std::vector<std::string> shape_only = {};
  // Input slots whose elements the shape rule reads (Infer::values): they are computed when a plan
  // is laid out.
  std::vector<std::string> shape_values = {};
  std::vector<std::string> required_attrs = {};
  // Every element of the outputs depends on the elements of the same place, and on one-element
  // inputs, alone: on a slice of its arrays the op does what it does on the whole.
  bool elementwise = false;
  // Of optimizer ops: whether the update from selected rows leaves all other rows as they are.
  bool (*keeps_other_rows)(const Op&) = nullptr;
  // Of optimizer ops: {input slot of a state, setting of a table's rule that is its first value}.
  std::vector<std::pair<std::string, std::string>> first_values = {};
  // Whether the op runs on the CPU also where its family has kernels for a GPU: it reads elements
  // on the host, or belongs to rows that are updated there.
  bool (*on_host)(const Op&) = nullptr;
  // Does more than write its outputs: a plan runs it also where nothing reads them.
  bool has_effect = false;
};

// The definition, or null. Defined by the generated table in ops/, so that graph/ needs no list of
// op families.
const OpDef* find_op_def(std::string_view type);
std::vector<std::string> op_types();
// The definition; throws Error(config) with a suggestion for an unknown type.
const OpDef& op_def(std::string_view type);

// Checks slots and attributes of an op against its definition and fills in default attributes. All
// problems at once.
void conform(Op& op);
// Gives an op that was read from a file the attributes that it does not have and that have
// defaults: PaddlePaddle leaves some out where it makes ops itself (`scale` without bias).
void add_default_attrs(Op& op);

// Runs the op's shape rule over the variables of a block and writes the results to the output
// variables.
class Block;
void infer_op(const Op& op, const Block& block);

}  // namespace paddle
