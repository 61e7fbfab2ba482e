// Attributes of ops: named, typed constants. The variant's order is Fluid's AttrType, so index() is
// the type number that stands in saved models.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"

namespace paddle {

struct BlockRef {  // a sub-block, by index
  int32_t index = 0;
  bool operator==(const BlockRef&) const = default;
};
struct BlockRefs {
  std::vector<int32_t> indices;
  bool operator==(const BlockRefs&) const = default;
};

using Ints = std::vector<int32_t>;
using Floats = std::vector<float>;
using Strings = std::vector<std::string>;
using Bools = std::vector<bool>;
using Longs = std::vector<int64_t>;

using Attr = std::variant<int32_t, float, std::string, Ints, Floats, Strings, bool, Bools, BlockRef,
                          int64_t, BlockRefs, Longs>;

// "INT", "FLOATS", …
std::string_view attr_type_name(size_t index);
// A readable value: 0.5, "mean", [1, 2].
std::string attr_text(const Attr& value);

// A small map that keeps the order of insertion, as saved models do.
class Attrs {
 public:
  using Entry = std::pair<std::string, Attr>;

  Attrs() = default;
  Attrs(std::initializer_list<Entry> entries) : entries_(entries) {}

  const Attr* find(std::string_view name) const {
    for (const Entry& e : entries_)
      if (e.first == name) return &e.second;
    return nullptr;
  }
  bool has(std::string_view name) const { return find(name) != nullptr; }
  void set(std::string_view name, Attr value);
  void remove(std::string_view name);

  // The value, which must be there and of type T; int, long, float and bool convert where nothing
  // is lost.
  template <class T>
  T get(std::string_view name) const;
  template <class T>
  T get(std::string_view name, T fallback) const {
    return has(name) ? get<T>(name) : fallback;
  }

  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  size_t size() const { return entries_.size(); }
  bool operator==(const Attrs&) const = default;

 private:
  [[noreturn]] static void missing(std::string_view name);
  [[noreturn]] static void wrong_type(std::string_view name, size_t expected, const Attr& found);

  std::vector<Entry> entries_;
};

template <class T>
T Attrs::get(std::string_view name) const {
  const Attr* a = find(name);
  if (a == nullptr) missing(name);
  if (const T* v = std::get_if<T>(a)) return *v;
  if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, float>) {
    if (const auto* v = std::get_if<int32_t>(a)) return static_cast<T>(*v);
  }
  if constexpr (std::is_same_v<T, float>) {
    if (const auto* v = std::get_if<int64_t>(a)) return static_cast<T>(*v);
  }
  if constexpr (std::is_same_v<T, bool>) {
    if (const auto* v = std::get_if<int32_t>(a)) return *v != 0;
  }
  if constexpr (std::is_same_v<T, Longs>) {
    if (const auto* v = std::get_if<Ints>(a)) return Longs(v->begin(), v->end());
  }
  wrong_type(name, Attr(T{}).index(), *a);
}

}  // namespace paddle
