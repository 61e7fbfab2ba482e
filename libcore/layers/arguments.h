// Reads named arguments into C++ values. Who declares an argument says its name, its place, and its
// meaning; type and default come from the place itself, so that help and reading cannot disagree.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/op.h"
#include "layers/param_attr.h"
#include "layers/value.h"

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

// One documented argument.
struct Parameter {
  std::string name, type;
  std::string fallback;  // the default as text; "" where it is required
  bool required = false;
  std::string meaning;
};

// One of the nested objects of a job file, and what it takes besides its type.
struct ObjectRow {
  std::string type, meaning;
  std::vector<Parameter> parameters;
};
std::vector<ObjectRow> initializer_rows();
std::vector<Parameter> param_attr_parameters();  // of param_attr and bias_attr
std::vector<Parameter> clip_parameters();        // of gradient_clip, its type included

class Arguments {
 public:
  using Problems = std::vector<std::string>;

  // Null dict: nothing is read, arguments are only declared.
  explicit Arguments(const Dict* dict) : dict_(dict) {}

  template <class T>
  void required(const char* name, T& place, const char* meaning) {
    declare(name, place, meaning, true);
  }
  template <class T>
  void optional(const char* name, T& place, const char* meaning) {
    declare(name, place, meaning, false);
  }

  // Adds what the caller found wrong.
  void problem(std::string what) { wrong_.push_back(std::move(what)); }

  const std::vector<Parameter>& parameters() const { return parameters_; }
  // Everything wrong, unknown names included (besides `also`). To be asked after all declarations.
  Problems problems(const Names& also) const;

  // Reads one value; what is wrong is told as "'size' must be an integer, found "x"".
  static void read(const Value& v, const std::string& name, bool& place, Problems& wrong);
  static void read(const Value& v, const std::string& name, int32_t& place, Problems& wrong);
  static void read(const Value& v, const std::string& name, int64_t& place, Problems& wrong);
  static void read(const Value& v, const std::string& name, float& place, Problems& wrong);
  static void read(const Value& v, const std::string& name, std::string& place, Problems& wrong);
  static void read(const Value& v, const std::string& name, Ref& place, Problems& wrong);
  static void read(const Value& v, const std::string& name, Refs& place, Problems& wrong);
  static void read(const Value& v, const std::string& name, DType& place, Problems& wrong);
  static void read(const Value& v, const std::string& name, Shape& place, Problems& wrong);
  static void read(const Value& v, const std::string& name, Ints& place, Problems& wrong);
  static void read(const Value& v, const std::string& name, Longs& place, Problems& wrong);
  static void read(const Value& v, const std::string& name, Floats& place, Problems& wrong);
  static void read(const Value& v, const std::string& name, std::array<int32_t, 2>& place,
                   Problems& wrong);
  static void read(const Value& v, const std::string& name, ParamAttr& place, Problems& wrong);
  static void read(const Value& v, const std::string& name, ParamAttrs& place, Problems& wrong);
  static void read(const Value& v, const std::string& name, Initializer& place, Problems& wrong);
  static void read(const Value& v, const std::string& name, GradientClip& place, Problems& wrong);
  template <class T>
  static void read(const Value& v, const std::string& name, std::optional<T>& place,
                   Problems& wrong) {
    read(v, name, place.emplace(), wrong);
  }

 private:
  template <class T>
  void declare(const char* name, T& place, const char* meaning, bool must) {
    parameters_.push_back({name, type_of(place), must ? "" : shown(place), must, meaning});
    if (dict_ == nullptr) return;
    if (const Value* v = find(*dict_, name))
      read(*v, name, place, wrong_);
    else if (must)
      wrong_.push_back(text("'", name, "' is missing"));
  }

  static std::string type_of(bool) { return "boolean"; }
  static std::string type_of(int32_t) { return "integer"; }
  static std::string type_of(int64_t) { return "integer"; }
  static std::string type_of(float) { return "number"; }
  static std::string type_of(const std::string&) { return "text"; }
  static std::string type_of(const Ref&) { return "variable"; }
  static std::string type_of(const Refs&) { return "variables"; }
  static std::string type_of(DType) { return "element type"; }
  static std::string type_of(const Shape&) { return "shape"; }
  static std::string type_of(const Ints&) { return "integers"; }
  static std::string type_of(const Longs&) { return "integers"; }
  static std::string type_of(const Floats&) { return "numbers"; }
  static std::string type_of(const std::array<int32_t, 2>&) { return "integer or pair"; }
  static std::string type_of(const ParamAttr&) { return "parameter"; }
  static std::string type_of(const ParamAttrs&) { return "parameter"; }
  static std::string type_of(const Initializer&) { return "initializer"; }
  static std::string type_of(const GradientClip&) { return "clip"; }
  template <class T>
  static std::string type_of(const std::optional<T>&) {
    return type_of(T{});
  }

  static std::string shown(bool v) { return v ? "true" : "false"; }
  static std::string shown(int32_t v) { return std::to_string(v); }
  static std::string shown(int64_t v) { return std::to_string(v); }
  static std::string shown(float v);
  static std::string shown(const std::string& v) { return v.empty() ? "none" : v; }
  static std::string shown(DType v) { return name_of(v); }
  static std::string shown(const std::array<int32_t, 2>& v);
  static std::string shown(const Ints& v);
  template <class T>
  static std::string shown(const T&) {  // things without a short spelling
    return "none";
  }

  const Dict* dict_;
  std::vector<Parameter> parameters_;
  Problems wrong_;
};

}  // namespace paddle
