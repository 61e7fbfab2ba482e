// JSON with comments, read into a tree that remembers where everything stood, so that mistakes can
// be told with file:line. FlatBuffers' own parser stops at the first mistake and forgets places; it
// is fed from this tree.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace paddle {

struct JsonMember;

struct JsonValue {
  enum class Kind { null, boolean, number, text, list, object };

  Kind kind = Kind::null;
  int line = 0;
  std::string text;  // of a text; of a number as it was written; "true" or "false"
  std::vector<JsonValue> items;
  std::vector<JsonMember> members;  // in the order of the file
  bool broken = false;              // a mistake inside was told

  const JsonValue* find(std::string_view key) const;
  JsonValue* find(std::string_view key) {
    return const_cast<JsonValue*>(std::as_const(*this).find(key));
  }
  // "a list", "the text 'x'", "the number 3": what was found, for messages.
  std::string told() const;
};

struct JsonMember {
  std::string key;
  int line = 0;
  JsonValue value;
};

// Arguments for placeholders: a text "${name}" or "${name:default}" stands for the value given
// under that name, as a number or a truth value where it reads as one.
using JsonArguments = std::map<std::string, std::string>;

// Throws Error(config) naming `file`:line for what is no JSON, for a placeholder without value and
// for an argument that no placeholder uses.
JsonValue parse_json(std::string_view source, const std::string& file,
                     const JsonArguments& arguments = {});

// Plain JSON again, without comments.
std::string json_text(const JsonValue& value);

}  // namespace paddle
