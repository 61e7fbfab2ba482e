#include "graph/attr.h"

namespace paddle {
namespace {

std::string value_text(const std::string& s) { return '"' + s + '"'; }
std::string value_text(bool b) { return b ? "true" : "false"; }
std::string value_text(BlockRef b) { return text("block ", b.index); }
template <class T>
std::string value_text(const T& number) {
  return text(number);
}

template <class List>
std::string list_text(const List& list) {
  std::string out = "[";
  for (size_t i = 0; i < list.size(); ++i) {
    const typename List::value_type item = list[i];
    out += (i ? ", " : "") + value_text(item);
  }
  return out + "]";
}

}  // namespace

std::string_view attr_type_name(size_t index) {
  static constexpr std::string_view names[] = {"INT",    "FLOAT",   "STRING",  "INTS",
                                               "FLOATS", "STRINGS", "BOOLEAN", "BOOLEANS",
                                               "BLOCK",  "LONG",    "BLOCKS",  "LONGS"};
  return index < std::size(names) ? names[index] : "UNKNOWN";
}

std::string attr_text(const Attr& value) {
  return std::visit(
      [](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, BlockRefs>)
          return "blocks " + list_text(v.indices);
        else if constexpr (std::is_same_v<T, std::string>)
          return value_text(v);
        else if constexpr (requires { v.size(); })
          return list_text(v);
        else
          return value_text(v);
      },
      value);
}

void Attrs::set(std::string_view name, Attr value) {
  for (Entry& e : entries_) {
    if (e.first == name) {
      e.second = std::move(value);
      return;
    }
  }
  entries_.emplace_back(std::string(name), std::move(value));
}

void Attrs::remove(std::string_view name) {
  std::erase_if(entries_, [&](const Entry& e) { return e.first == name; });
}

void Attrs::missing(std::string_view name) {
  throw Error(Error::Kind::config, "the attribute '", name, "' is missing");
}

void Attrs::wrong_type(std::string_view name, size_t expected, const Attr& found) {
  throw Error(Error::Kind::config, "the attribute '", name, "' must be ", attr_type_name(expected),
              ", found ", attr_type_name(found.index()), " ", attr_text(found));
}

}  // namespace paddle
