// Named arguments as job files and Python give them: a small tree of plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace paddle {

struct Value;
using List = std::vector<Value>;
using Dict = std::vector<std::pair<std::string, Value>>;  // in the order written

struct Value {
  std::variant<std::monostate, bool, int64_t, double, std::string, List, Dict> held;

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
};

// The value of a key, or null.
inline const Value* find(const Dict& dict, std::string_view key) {
  for (const auto& [name, value] : dict)
    if (name == key) return &value;
  return nullptr;
}

// As it would stand in a job file: 0.5, "tanh", [1, 2].
std::string value_text(const Value& value);

}  // namespace paddle
