#include "layers/arguments.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/suggest.h"

namespace paddle {
namespace {

using Problems = Arguments::Problems;

void expected(const char* what, const Value& v, const std::string& name, Problems& wrong) {
  wrong.push_back(text("'", name, "' must be ", what, ", found ", value_text(v)));
}

// A list of one stands for its element: job files write both.
const Value& single(const Value& v) {
  const List* list = v.as<List>();
  return list && list->size() == 1 ? list->front() : v;
}

template <class T>
std::optional<T> integer(const Value& v) {
  const Value& one = single(v);
  if (const int64_t* i = one.as<int64_t>())
    if (*i >= std::numeric_limits<T>::min() && *i <= std::numeric_limits<T>::max())
      return static_cast<T>(*i);
  return std::nullopt;
}

std::optional<float> number(const Value& v) {
  const Value& one = single(v);
  if (const int64_t* i = one.as<int64_t>()) return static_cast<float>(*i);
  if (const double* d = one.as<double>())
    if (std::isfinite(*d)) return static_cast<float>(*d);
  return std::nullopt;
}

// A list by element, or one element alone.
template <class T, class One>
std::optional<std::vector<T>> list_of(const Value& v, const One& one) {
  std::vector<T> out;
  if (const List* list = v.as<List>()) {
    for (const Value& item : *list) {
      const std::optional<T> read = one(item);
      if (!read) return std::nullopt;
      out.push_back(*read);
    }
    return out;
  }
  if (const std::optional<T> alone = one(v)) return std::vector<T>{*alone};
  return std::nullopt;
}

template <class T>
void read_list(const Value& v, const std::string& name, const char* what, std::vector<T>& place,
               Problems& wrong) {
  const auto list = [&] {
    if constexpr (std::is_same_v<T, float>)
      return list_of<T>(v, number);
    else
      return list_of<T>(v, integer<T>);
  }();
  if (list)
    place = *list;
  else
    expected(what, v, name, wrong);
}

// Reads a nested dict through its own declarations; problems are told as "param_attr: 'nam' …".
void nested(const Arguments& inner, const std::string& name, const Names& also, Problems& wrong) {
  for (const std::string& p : inner.problems(also)) wrong.push_back(text("'", name, "': ", p));
}

Regularizer decay(float l1, float l2, const std::string& name, Problems& wrong) {
  if (l1 != 0 && l2 != 0) wrong.push_back(text("'", name, "': give l1 or l2, not both"));
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

std::string value_text(const Value& value) {
  return std::visit(
      [](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::monostate>) return "null";
        if constexpr (std::is_same_v<T, bool>) return v ? "true" : "false";
        if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, double>) return text(v);
        if constexpr (std::is_same_v<T, std::string>) return text('"', v, '"');
        std::string out;
        if constexpr (std::is_same_v<T, List>) {
          for (const Value& item : v) out += text(out.empty() ? "" : ", ", value_text(item));
          return text("[", out, "]");
        }
        if constexpr (std::is_same_v<T, Dict>) {
          for (const auto& [key, item] : v)
            out += text(out.empty() ? "\"" : ", \"", key, "\": ", value_text(item));
          return text("{", out, "}");
        }
        return out;
      },
      value.held);
}

std::string Arguments::shown(float v) { return text(v); }
std::string Arguments::shown(const std::array<int32_t, 2>& v) {
  return v[0] == v[1] ? text(v[0]) : text("[", v[0], ", ", v[1], "]");
}
std::string Arguments::shown(const Ints& v) { return v.empty() ? "none" : attr_text(v); }

Arguments::Problems Arguments::problems(const Names& also) const {
  Problems all;
  Names known = also;
  for (const Parameter& p : parameters_) known.push_back(p.name);
  if (dict_ != nullptr)
    for (const auto& [name, value] : *dict_)
      if (std::find(known.begin(), known.end(), name) == known.end())
        all.push_back(text("there is no parameter '", name, "'", did_you_mean(name, known)));
  all.insert(all.end(), wrong_.begin(), wrong_.end());
  return all;
}

void Arguments::read(const Value& v, const std::string& name, bool& place, Problems& wrong) {
  if (const bool* b = single(v).as<bool>())
    place = *b;
  else
    expected("true or false", v, name, wrong);
}

void Arguments::read(const Value& v, const std::string& name, int32_t& place, Problems& wrong) {
  if (const auto i = integer<int32_t>(v))
    place = *i;
  else
    expected("an integer", v, name, wrong);
}

void Arguments::read(const Value& v, const std::string& name, int64_t& place, Problems& wrong) {
  if (const auto i = integer<int64_t>(v))
    place = *i;
  else
    expected("an integer", v, name, wrong);
}

void Arguments::read(const Value& v, const std::string& name, float& place, Problems& wrong) {
  if (const auto f = number(v))
    place = *f;
  else
    expected("a number", v, name, wrong);
}

void Arguments::read(const Value& v, const std::string& name, std::string& place, Problems& wrong) {
  const Value& one = single(v);
  if (const std::string* s = one.as<std::string>())
    place = *s;
  else if (!one.as<std::monostate>())
    expected("text", v, name, wrong);
}

void Arguments::read(const Value& v, const std::string& name, Ref& place, Problems& wrong) {
  if (const std::string* s = single(v).as<std::string>())
    place.name = *s;
  else
    expected("the name of a variable", v, name, wrong);
}

void Arguments::read(const Value& v, const std::string& name, Refs& place, Problems& wrong) {
  const auto names = list_of<std::string>(v, [](const Value& item) {
    const std::string* s = item.as<std::string>();
    return s ? std::optional(*s) : std::nullopt;
  });
  if (names && !names->empty())
    place.names = *names;
  else
    expected("one or more names of variables", v, name, wrong);
}

void Arguments::read(const Value& v, const std::string& name, DType& place, Problems& wrong) {
  const std::string* s = single(v).as<std::string>();
  if (s == nullptr) return expected("the name of an element type", v, name, wrong);
  try {
    place = dtype_of(*s);
  } catch (const Error& e) {
    wrong.push_back(text("'", name, "': ", e.what()));
  }
}

void Arguments::read(const Value& v, const std::string& name, Shape& place, Problems& wrong) {
  const auto dims = list_of<int64_t>(v, integer<int64_t>);
  if (dims && dims->size() <= static_cast<size_t>(Shape::max_rank))
    place = Shape(std::span<const int64_t>(*dims));
  else
    expected("a list of at most 8 lengths", v, name, wrong);
}

void Arguments::read(const Value& v, const std::string& name, Ints& place, Problems& wrong) {
  read_list(v, name, "a list of integers", place, wrong);
}

void Arguments::read(const Value& v, const std::string& name, Longs& place, Problems& wrong) {
  read_list(v, name, "a list of integers", place, wrong);
}

void Arguments::read(const Value& v, const std::string& name, Floats& place, Problems& wrong) {
  read_list(v, name, "a list of numbers", place, wrong);
}

void Arguments::read(const Value& v, const std::string& name, std::array<int32_t, 2>& place,
                     Problems& wrong) {
  const auto list = list_of<int32_t>(v, integer<int32_t>);
  if (list && (list->size() == 1 || list->size() == 2))
    place = {list->front(), list->back()};
  else
    expected("one integer or two (height, width)", v, name, wrong);
}

void Arguments::read(const Value& v, const std::string& name, ParamAttr& place, Problems& wrong) {
  if (v.as<std::monostate>()) return;
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
    return expected("a name, false, or an object that describes a parameter", v, name, wrong);
  Arguments a(dict);
  ParamAttrArguments read;
  read.declare(a, place);
  nested(a, name, {}, wrong);
  place.regularizer = decay(read.l1, read.l2, name, wrong);
}

void Arguments::read(const Value& v, const std::string& name, ParamAttrs& place, Problems& wrong) {
  const List alone{v};
  const List* list = v.as<List>();
  for (const Value& one : list ? *list : alone) read(one, name, place.all.emplace_back(), wrong);
}

void Arguments::read(const Value& v, const std::string& name, Initializer& place, Problems& wrong) {
  if (const auto f = number(v)) {
    place = init::Constant{*f};
    return;
  }
  const Dict* dict = v.as<Dict>();
  const Value* type = dict ? find(*dict, "type") : nullptr;
  const std::string* kind = type ? type->as<std::string>() : nullptr;
  if (kind == nullptr) return expected("a number or an object with a 'type'", v, name, wrong);
  Names known;
  for (const NamedInit& n : initializers()) {
    known.push_back(n.name);
    if (*kind != n.name) continue;
    place = n.start;
    Arguments a(dict);
    std::visit([&](auto& i) { declare_init(a, i); }, place);
    return nested(a, name, {"type"}, wrong);
  }
  wrong.push_back(text("'", name, "': there is no initializer '", *kind, "'",
                       did_you_mean(*kind, known), ": it is one of ", listed(known)));
}

void Arguments::read(const Value& v, const std::string& name, GradientClip& place,
                     Problems& wrong) {
  const Dict* dict = v.as<Dict>();
  if (dict == nullptr) return expected("an object with a 'type'", v, name, wrong);
  Arguments a(dict);
  ClipArguments c;
  c.declare(a);
  nested(a, name, {}, wrong);
  if (c.type == "value")
    place = clip_by_value(c.max, c.min.value_or(-c.max));
  else if (c.type == "norm")
    place = clip_by_norm(c.max);
  else if (c.type == "global_norm")
    place = clip_by_global_norm(c.max, c.group);
  else if (!c.type.empty())
    wrong.push_back(
        text("'", name, "': 'type' must be value, norm or global_norm, found '", c.type, "'"));
}

}  // namespace paddle
