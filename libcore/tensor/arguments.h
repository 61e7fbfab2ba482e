// Element types and shapes as named arguments (base/arguments.h).
#pragma once

#include "base/arguments.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace paddle {

void read_value(const Value& v, const std::string& name, DType& place, Mistakes& wrong);
void read_value(const Value& v, const std::string& name, Shape& place, Mistakes& wrong);
void describe_type(DType place, Parameter& p);
void describe_type(const Shape& place, Parameter& p);

}  // namespace paddle
