// The environment of the process as a value: taken once in main(), handed down, and replaced by
// tests.
#pragma once

#include <map>
#include <string>

namespace paddle {

using Environment = std::map<std::string, std::string>;

Environment current_environment();

// "" where it is not set.
std::string variable(const Environment& environment, const std::string& name);

// Whether the locale says that the terminal shows UTF-8.
bool speaks_utf8(const Environment& environment);

}  // namespace paddle
