#include "layers/arguments.h"

#include "base/suggest.h"

namespace paddle {
namespace {

Regularizer decay(float l1, float l2, const Value& v, const std::string& name, Mistakes& wrong) {
  if (l1 != 0 && l2 != 0) wrong.push_back({v.at, text("'", name, "': give l1 or l2, not both")});
  return l1 != 0 ? l1_decay(l1) : l2 != 0 ? l2_decay(l2) : Regularizer{};
}

template <class Init>
void declare_init(Arguments& a, Init& i) {
  if constexpr (requires { i.value; }) a.optional("value", i.value, "the value");
  if constexpr (requires { i.low; }) {
    a.optional("low", i.low, "smallest value");
    a.optional("high", i.high, "largest value");
  }
  if constexpr (requires { i.loc; }) {
    a.optional("loc", i.loc, "mean");
    a.optional("scale", i.scale, "standard deviation");
  }
  if constexpr (requires { i.uniform; }) {
    a.optional("uniform", i.uniform, "uniform rather than normal");
    a.optional("fan_in", i.fan_in, "inputs of one output");
  }
  if constexpr (requires { i.fan_out; }) a.optional("fan_out", i.fan_out, "outputs of one input");
  if constexpr (requires { i.seed; }) a.optional("seed", i.seed, "0 = the program's");
  if constexpr (requires { i.values; }) a.required("values", i.values, "in row-major order");
}

struct NamedInit {
  const char* name;
  const char* meaning;
  Initializer start;
};

const std::vector<NamedInit>& initializers() {
  static const std::vector<NamedInit> all = {
      {"constant", "equal values", init::Constant{}},
      {"uniform", "evenly between two values", init::Uniform{}},
      {"normal", "a normal distribution", init::Normal{}},
      {"truncated_normal", "normal, within two standard deviations", init::TruncatedNormal{}},
      {"xavier", "keeps the variance through a layer", init::Xavier{}},
      {"msra", "the same for layers followed by relu", init::Msra{}},
      {"bilinear", "upsampling weights of a square filter", init::Bilinear{}},
      {"values", "given ones", init::Values{}}};
  return all;
}

// An object that describes a parameter, and the two numbers that become its regularizer.
struct ParamAttrArguments {
  float l1 = 0, l2 = 0;
  void declare(Arguments& a, ParamAttr& p) {
    a.optional("name", p.name, "of the parameter; layers that name the same one share it");
    a.optional("initializer", p.initializer, "first values; without it the layer's own choice");
    a.optional("learning_rate", p.learning_rate, "factor on the optimizer's");
    a.optional("l1", l1, "instead of the optimizer's");
    a.optional("l2", l2, "instead of the optimizer's");
    a.optional("trainable", p.trainable, "false = keeps its first values");
    a.optional("gradient_clip", p.gradient_clip, "instead of the optimizer's");
    a.optional("do_model_average", p.do_model_average,
               "kept with the parameter, used by nothing yet");
  }
};

struct ClipArguments {
  std::string type, group = "default_group";
  float max = 0;
  std::optional<float> min;
  void declare(Arguments& a) {
    a.required("type", type, "value, norm or global_norm");
    a.required("max", max, "the largest value, or the norm");
    a.optional("min", min, "value: the smallest, else -max");
    a.optional("group", group, "global_norm: parameters that are clipped together");
  }
};

}  // namespace

std::vector<ObjectRow> initializer_rows() {
  std::vector<ObjectRow> out;
  for (const NamedInit& n : initializers()) {
    Arguments a(nullptr);
    Initializer start = n.start;
    std::visit([&](auto& i) { declare_init(a, i); }, start);
    out.push_back({n.name, n.meaning, a.parameters()});
  }
  return out;
}

std::vector<Parameter> param_attr_parameters() {
  Arguments a(nullptr);
  ParamAttr place;
  ParamAttrArguments().declare(a, place);
  return a.parameters();
}

std::vector<Parameter> clip_parameters() {
  Arguments a(nullptr);
  ClipArguments().declare(a);
  return a.parameters();
}

void read_value(const Value& v, const std::string& name, Ref& place, Mistakes& wrong) {
  Mistakes inner;
  read_value(v, name, place.name, inner);
  if (!inner.empty()) add_expected("the name of a variable", v, name, wrong);
}

void read_value(const Value& v, const std::string& name, Refs& place, Mistakes& wrong) {
  Mistakes inner;
  read_value(v, name, place.names, inner);
  if (!inner.empty() || place.names.empty())
    add_expected("one or more names of variables", v, name, wrong);
}

void read_value(const Value& v, const std::string& name, ParamAttr& place, Mistakes& wrong) {
  if (v.is_null()) return;  // one of a list that has no attributes of its own
  if (const std::string* s = v.as<std::string>()) {
    place.name = *s;
    return;
  }
  if (const bool* b = v.as<bool>(); b && !*b) {
    place = ParamAttr::none();
    return;
  }
  const Dict* dict = v.as<Dict>();
  if (dict == nullptr)
    return add_expected("a name, false, or an object that describes a parameter", v, name, wrong);
  Arguments a(dict, v.at);
  ParamAttrArguments read;
  read.declare(a, place);
  add_nested(a.mistakes(), name, wrong);
  place.regularizer = decay(read.l1, read.l2, v, name, wrong);
}

void read_value(const Value& v, const std::string& name, ParamAttrs& place, Mistakes& wrong) {
  const List alone{v};
  const List* list = v.as<List>();
  for (const Value& one : list ? *list : alone)
    read_value(one, name, place.all.emplace_back(), wrong);
}

void read_value(const Value& v, const std::string& name, Initializer& place, Mistakes& wrong) {
  if (v.as<int64_t>() || v.as<double>()) {
    init::Constant constant;
    read_value(v, name, constant.value, wrong);
    place = constant;
    return;
  }
  const Dict* dict = v.as<Dict>();
  const Value* type = dict ? find(*dict, "type") : nullptr;
  const std::string* kind = type ? type->as<std::string>() : nullptr;
  if (kind == nullptr) return add_expected("a number or an object with a 'type'", v, name, wrong);
  Names known;
  for (const NamedInit& n : initializers()) {
    known.push_back(n.name);
    if (*kind != n.name) continue;
    place = n.start;
    Arguments a(dict, v.at);
    std::visit([&](auto& i) { declare_init(a, i); }, place);
    return add_nested(a.mistakes(Names{"type"}), name, wrong);
  }
  wrong.push_back({type->at, text("'", name, "': there is no initializer '", *kind, "'",
                                  did_you_mean(*kind, known), ": it is one of ", listed(known))});
}

void read_value(const Value& v, const std::string& name, GradientClip& place, Mistakes& wrong) {
  const Dict* dict = v.as<Dict>();
  if (dict == nullptr) return add_expected("an object with a 'type'", v, name, wrong);
  Arguments a(dict, v.at);
  ClipArguments c;
  c.declare(a);
  add_nested(a.mistakes(), name, wrong);
  if (c.type == "value")
    place = clip_by_value(c.max, c.min.value_or(-c.max));
  else if (c.type == "norm")
    place = clip_by_norm(c.max);
  else if (c.type == "global_norm")
    place = clip_by_global_norm(c.max, c.group);
  else if (!c.type.empty())
    wrong.push_back({v.at, text("'", name, "': 'type' must be value, norm or global_norm, found '",
                                c.type, "'")});
}

void describe_type(const Ref&, Parameter& p) {
  p.type = "variable";
  p.fallback = "none";
}
void describe_type(const Refs&, Parameter& p) {
  p.type = "variables";
  p.fallback = "none";
}
void describe_type(const ParamAttr&, Parameter& p) {
  p.type = "parameter";
  p.fallback = "none";
}
void describe_type(const ParamAttrs&, Parameter& p) {
  p.type = "parameter";
  p.fallback = "none";
}
void describe_type(const Initializer&, Parameter& p) {
  p.type = "initializer";
  p.fallback = "none";
}
void describe_type(const GradientClip&, Parameter& p) {
  p.type = "clip";
  p.fallback = "none";
}

}  // namespace paddle
