#include "layers/builder.h"

#include "base/suggest.h"
#include "graph/op_def.h"

namespace paddle {
namespace {

// What a second use of a shared variable must agree with.
void check_shared(const Var& old, const Var& now) {
  require(old.dtype == now.dtype && old.shape == now.shape, Error::Kind::config, "the variable '",
          now.name, "' is used twice with different types: first ", name_of(old.dtype), " ",
          old.shape, ", now ", name_of(now.dtype), " ", now.shape,
          "; give one of them another name");
}

}  // namespace

std::string Builder::new_name(std::string_view key) const {
  std::string name = names_.next(key);
  while (block().find_local(name) != nullptr) name = names_.next(key);
  return name;
}

std::string Builder::global_var(Var v, const Initializer& first) const {
  if (v.name.empty()) v.name = new_name("_generated_var");
  if (const Var* old = block().find_local(v.name)) check_shared(*old, v);
  block().create(v);
  if (startup_.global().find_local(v.name)) return v.name;
  v.persistable = true;  // whatever the startup program makes outlives it
  initialize(startup_, startup_.global().create(v), first);
  return v.name;
}

std::string Builder::parameter(const std::string& name, const ParamAttr& attr, const Shape& shape,
                               DType dtype, const Initializer& first) const {
  const bool any_height = attr.table && shape.rank() == 2 && shape[1] > 0;
  require(shape.known() || any_height, Error::Kind::config, "the parameter '", name,
          "' would have the unknown length -1 in its shape ", shape,
          ": give the input layer its full shape (only the batch may be unknown)");
  Var v{.name = name, .dtype = dtype, .shape = shape, .persistable = true};
  v.param = ParamInfo{.trainable = attr.trainable,
                      .learning_rate = attr.learning_rate,
                      .regularizer = attr.regularizer,
                      .clip = attr.gradient_clip,
                      .model_average = attr.do_model_average,
                      .table = attr.table};
  if (attr.table) v.table = name;
  return global_var(std::move(v), attr.initializer.value_or(first));
}

std::string Layer::weight(const ParamAttr& attr, const Shape& shape, DType dtype,
                          const Initializer& first) const {
  require(!attr.absent, Error::Kind::config, "layer ", name_,
          ": param_attr may not be none, the layer needs its weight");
  const std::string name = attr.name.empty() ? b_.names().next(name_ + ".w") : attr.name;
  return b_.parameter(name, attr, shape, dtype, first);
}

std::string Layer::bias(const ParamAttr& attr, const Shape& shape, DType dtype,
                        const Initializer& first) const {
  const std::string name = attr.name.empty() ? b_.names().next(name_ + ".b") : attr.name;
  return b_.parameter(name, attr, shape, dtype, first);
}

std::string Layer::op(std::string_view type, Slots in, Attrs attrs, std::string_view out) const {
  std::string result = tmp();
  b_.op({.type = std::string(type),
         .in = std::move(in),
         .out = {{std::string(out), {result}}},
         .attrs = std::move(attrs)});
  return result;
}

std::string Layer::add_bias(const std::string& x, const ParamAttr& attr, int from, int to) const {
  if (attr.absent) return x;
  const Var& v = b_.var(x);
  const std::string added = bias(attr, v.shape.slice(from, to), v.dtype);
  return op("elementwise_add", {{"X", {x}}, {"Y", {added}}}, {{"axis", from}});
}

std::string Layer::activate(const std::string& x, const std::string& act) const {
  if (act.empty()) return x;
  const OpDef* def = find_op_def(act);
  // Not by require(), which would look for a suggestion every time.
  if (def == nullptr || def->in.size() != 1 || def->in[0].name != "X")
    throw Error(Error::Kind::config, "layer ", name_, ": there is no activation '", act, "'",
                did_you_mean(act, op_types()));
  return op(act, {{"X", {x}}});
}

}  // namespace paddle
