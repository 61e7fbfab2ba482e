// Attributes that PaddlePaddle 1.8.5 has for ops and ours has not, with its defaults.
#pragma once

#include <string_view>

#include "graph/attr.h"

namespace paddle {

// Of an op type; empty for one that has none. The gradient op has the same.
const Attrs& foreign_attrs(std::string_view type);

}  // namespace paddle
