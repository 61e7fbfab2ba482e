// JSON with comments, read into values that know where they stand, so that mistakes can be reported
// with file, line and column. Names of keys need no quotes, and a comma may follow the last
// element.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/value.h"

namespace paddle {

// Arguments for placeholders: a text "${name}" or "${name:default}" stands for the value given
// under that name, as a number or a truth value where it reads as one.
using JsonArguments = std::map<std::string, std::string>;

// Throws Error(config) naming `file`:line:column for what is no JSON, for a placeholder without
// value and for an argument that no placeholder uses.
Value parse_json(std::string_view source, const std::string& file,
                 const JsonArguments& arguments = {});

}  // namespace paddle
