// Reads named arguments into C++ values. A declaration says an argument's name, its place in memory
// and its meaning; type and default come from that place, so that help and reading cannot disagree.
// The declarations of layers, optimizers and data formats are the schema of job files.
//
// A type is read by two functions of its own, found by overload: read_value() and describe_type().
// Those of plain types are here, those of others beside the types.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/value.h"

namespace paddle {

// One thing that is wrong, and where it stands.
struct Mistake {
  SourcePlace at;
  std::string what;
};
using Mistakes = std::vector<Mistake>;

// The sentences alone, in one line.
std::string mistakes_text(const Mistakes& mistakes);

// One documented argument.
struct Parameter {
  std::string name, type;
  std::string fallback;  // the default as text; "" where it is required
  bool required = false;
  std::string meaning;
  std::vector<Parameter> inner = {};  // the keys of an object, or of each object of a list
};

// Adds "'size' must be a whole number, found the text 'x'".
void add_expected(const std::string& what, const Value& v, const std::string& name,
                  Mistakes& wrong);

// Each reads one value into its place, or adds what is wrong. A list of one stands for its element.
void read_value(const Value& v, const std::string& name, bool& place, Mistakes& wrong);
void read_value(const Value& v, const std::string& name, int32_t& place, Mistakes& wrong);
void read_value(const Value& v, const std::string& name, int64_t& place, Mistakes& wrong);
void read_value(const Value& v, const std::string& name, float& place, Mistakes& wrong);
void read_value(const Value& v, const std::string& name, double& place, Mistakes& wrong);
void read_value(const Value& v, const std::string& name, std::string& place, Mistakes& wrong);
void read_value(const Value& v, const std::string& name, std::array<int32_t, 2>& place,
                Mistakes& wrong);
// Lists; an element alone stands for a list of one.
void read_value(const Value& v, const std::string& name, std::vector<int32_t>& place,
                Mistakes& wrong);
void read_value(const Value& v, const std::string& name, std::vector<int64_t>& place,
                Mistakes& wrong);
void read_value(const Value& v, const std::string& name, std::vector<float>& place,
                Mistakes& wrong);
void read_value(const Value& v, const std::string& name, std::vector<std::string>& place,
                Mistakes& wrong);
// An object as it stands, for those who read it later.
void read_value(const Value& v, const std::string& name, Value& place, Mistakes& wrong);
void read_value(const Value& v, const std::string& name, List& place, Mistakes& wrong);

// Each sets p.type and p.fallback.
void describe_type(bool place, Parameter& p);
void describe_type(int32_t place, Parameter& p);
void describe_type(int64_t place, Parameter& p);
void describe_type(float place, Parameter& p);
void describe_type(double place, Parameter& p);
void describe_type(const std::string& place, Parameter& p);
void describe_type(const std::array<int32_t, 2>& place, Parameter& p);
void describe_type(const std::vector<int32_t>& place, Parameter& p);
void describe_type(const std::vector<int64_t>& place, Parameter& p);
void describe_type(const std::vector<float>& place, Parameter& p);
void describe_type(const std::vector<std::string>& place, Parameter& p);
void describe_type(const Value& place, Parameter& p);
void describe_type(const List& place, Parameter& p);

class Arguments;
// A type whose objects declare their own keys: void declare(Arguments&).
template <class T>
concept Declared = requires(T t, Arguments& a) {
  t.declare(a);
};

template <class T>
void read_value(const Value& v, const std::string& name, std::optional<T>& place, Mistakes& wrong) {
  read_value(v, name, place.emplace(), wrong);
}
template <class T>
void describe_type(const std::optional<T>& place, Parameter& p) {
  describe_type(place.value_or(T{}), p);
  if (!place) p.fallback = "none";
}

class Arguments {
 public:
  // Null dict: nothing is read, arguments are only declared. `at` is where the object stands.
  explicit Arguments(const Dict* dict, SourcePlace at = {}) : dict_(dict), at_(at) {}

  // null counts as a key that is left out.
  template <class T>
  void required(const std::string& name, T& place, const std::string& meaning) {
    declare(name, place, meaning, true);
  }
  template <class T>
  void optional(const std::string& name, T& place, const std::string& meaning) {
    declare(name, place, meaning, false);
  }

  // Adds what the caller found wrong.
  void problem(std::string what) { wrong_.push_back({at_, std::move(what)}); }
  // The same for the value of a key.
  void problem(const std::string& name, std::string what);

  const std::vector<Parameter>& parameters() const { return parameters_; }
  // Everything wrong, unknown names included (besides `also`). To be asked after all declarations.
  Mistakes mistakes(std::span<const std::string> also = {}) const;

 private:
  template <class T>
  void declare(const std::string& name, T& place, const std::string& meaning, bool must) {
    Parameter p;
    p.name = name;
    p.required = must;
    p.meaning = meaning;
    describe_type(place, p);
    if (must) p.fallback.clear();
    parameters_.push_back(std::move(p));
    if (dict_ == nullptr) return;
    const Value* v = find(*dict_, name);
    if (v != nullptr && !v->is_null())
      read_value(*v, name, place, wrong_);
    else if (must)
      wrong_.push_back({at_, text("'", name, "' is missing")});
  }

  const Dict* dict_;
  SourcePlace at_;
  std::vector<Parameter> parameters_;
  Mistakes wrong_;
};

// What a declared type takes.
template <Declared T>
std::vector<Parameter> parameters_of() {
  Arguments a(nullptr);
  T().declare(a);
  return a.parameters();
}

// Adds the mistakes of an object inside another one: "'param_attr': there is no key 'nam'".
void add_nested(const Mistakes& inner, const std::string& name, Mistakes& wrong);

template <Declared T>
void read_value(const Value& v, const std::string& name, T& place, Mistakes& wrong) {
  const Dict* dict = v.as<Dict>();
  if (dict == nullptr) return add_expected("an object { … }", v, name, wrong);
  Arguments a(dict, v.at);
  place.declare(a);
  add_nested(a.mistakes(), name, wrong);
}
template <Declared T>
void describe_type(const T&, Parameter& p) {
  p.type = "object";
  p.fallback = "none";
  p.inner = parameters_of<T>();
}
template <Declared T>
void read_value(const Value& v, const std::string& name, std::vector<T>& place, Mistakes& wrong) {
  const List alone{v};
  const List* list = v.as<List>();
  for (const Value& one : list ? *list : alone) read_value(one, name, place.emplace_back(), wrong);
}
template <Declared T>
void describe_type(const std::vector<T>&, Parameter& p) {
  p.type = "objects";
  p.fallback = "none";
  p.inner = parameters_of<T>();
}

}  // namespace paddle
