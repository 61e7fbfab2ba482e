// Shape rules and lookups that many op families share.
#pragma once

#include "graph/op_def.h"

namespace paddle {

// Out has the shape, type and LoD of X.
void infer_same(Infer& i);
// For a gradient op: every output "S@GRAD" is like the input "S", or like "Out@GRAD" where "S" is
// no input.
void infer_grad_same(Infer& i);
// Optimizer ops: every output "SOut" is like the input "S".
void infer_update(Infer& i);
// Nothing to infer: outputs keep what they are declared as.
void infer_nothing(Infer& i);

// The element type named by an attribute of an op ("dtype", "out_dtype").
DType dtype_attr(const Attrs& attrs, std::string_view name);

// An axis counted from the end where it is negative; fails outside [-rank, rank).
int resolve_axis(const Infer& i, int axis, int rank);

}  // namespace paddle
