// What layers take besides plain values, as named arguments (base/arguments.h): variables,
// parameters, initializers, clips.
#pragma once

#include <string>
#include <vector>

#include "base/arguments.h"
#include "graph/op.h"
#include "layers/param_attr.h"
#include "tensor/arguments.h"

namespace paddle {

// Names of variables, as against other text.
struct Ref {
  std::string name;
};
struct Refs {
  Names names;
};

// One parameter's attributes for all inputs, or (from a front end) one per input.
struct ParamAttrs {
  std::vector<ParamAttr> all;
};

// One of the nested objects of a job file, and what it takes besides its type.
struct ObjectRow {
  std::string type, meaning;
  std::vector<Parameter> parameters;
};
std::vector<ObjectRow> initializer_rows();
std::vector<Parameter> param_attr_parameters();  // of param_attr and bias_attr
std::vector<Parameter> clip_parameters();        // of gradient_clip, its type included

void read_value(const Value& v, const std::string& name, Ref& place, Mistakes& wrong);
void read_value(const Value& v, const std::string& name, Refs& place, Mistakes& wrong);
void read_value(const Value& v, const std::string& name, ParamAttr& place, Mistakes& wrong);
void read_value(const Value& v, const std::string& name, ParamAttrs& place, Mistakes& wrong);
void read_value(const Value& v, const std::string& name, Initializer& place, Mistakes& wrong);
void read_value(const Value& v, const std::string& name, GradientClip& place, Mistakes& wrong);
void describe_type(const Ref& place, Parameter& p);
void describe_type(const Refs& place, Parameter& p);
void describe_type(const ParamAttr& place, Parameter& p);
void describe_type(const ParamAttrs& place, Parameter& p);
void describe_type(const Initializer& place, Parameter& p);
void describe_type(const GradientClip& place, Parameter& p);

}  // namespace paddle
