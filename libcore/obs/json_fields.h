// Reads JSON as this program writes it in one line: an object of plain values and of objects.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace paddle {

struct JsonField {
  enum class Kind { null, boolean, number, text, object };
  Kind kind = Kind::null;
  std::string text;  // of a text; of the others as they were written
  std::vector<std::pair<std::string, JsonField>> members = {};  // of an object

  // Null where there is no such member.
  const JsonField* find(std::string_view name) const;
};

// Nothing where the line is not such an object. Lists and nesting beyond 4 levels are not read.
std::optional<JsonField> read_json_object(std::string_view line);

}  // namespace paddle
