// Named arguments as job files and Python give them: a small tree of plain values. Values from a
// file know where they stand in it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace paddle {

// Counted from 1; line 0 = not from a file.
struct SourcePlace {
  int line = 0, column = 0;
};

struct Value;
using List = std::vector<Value>;
using Dict = std::vector<std::pair<std::string, Value>>;  // in the order written

struct Value {
  std::variant<std::monostate, bool, int64_t, double, std::string, List, Dict> held;
  std::string written = {};  // of a number from a file: its digits as they stand there
  SourcePlace at = {};       // of the value
  SourcePlace key = {};      // of the key in front of it

  Value() = default;
  Value(bool b) : held(b) {}
  Value(int i) : held(int64_t{i}) {}
  Value(int64_t i) : held(i) {}
  Value(double d) : held(d) {}
  Value(const char* s) : held(std::string(s)) {}
  Value(std::string s) : held(std::move(s)) {}
  Value(List list) : held(std::move(list)) {}
  Value(Dict dict) : held(std::move(dict)) {}

  template <class T>
  const T* as() const {
    return std::get_if<T>(&held);
  }
  bool is_null() const { return held.index() == 0; }
};

// The value of a key, or null.
inline const Value* find(const Dict& dict, std::string_view key) {
  for (const auto& [name, value] : dict)
    if (name == key) return &value;
  return nullptr;
}

// The text of a key, or "" where there is none or it is no text.
inline std::string text_of(const Dict& dict, std::string_view key) {
  const Value* v = find(dict, key);
  const std::string* s = v ? v->as<std::string>() : nullptr;
  return s ? *s : "";
}

// As JSON: 0.5, "tanh", [1, 2], {"a": true}.
std::string value_text(const Value& value);
// "the text 'x'", "the number 3", "[1, 2]": what was found, for messages.
std::string describe_value(const Value& value);

}  // namespace paddle
