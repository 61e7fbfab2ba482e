// Two tensors of which the second, y, may be a run of the first one's dimensions, repeated over the
// others: the rule.
#pragma once

#include "kernels/broadcast.h"
#include "ops/common.h"

namespace paddle {

// Y's shape is that of a run of X's dimensions which starts at `axis`. Trailing ones of Y are
// dropped; with axis -1, Y is aligned at X's end before they are.
Extents extents(const Shape& x, const Shape& y, int axis);

// Fails unless Y can be broadcast to X by the op's attribute `axis` and both have one type.
void check_broadcast(const Infer& i);

}  // namespace paddle
