#include "options/environment.h"

#include <unistd.h>

#include <cctype>
#include <string_view>

namespace paddle {

Environment current_environment() {
  Environment all;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view line = *entry;
    const size_t equals = line.find('=');
    if (equals != std::string_view::npos)
      all.emplace(line.substr(0, equals), line.substr(equals + 1));
  }
  return all;
}

std::string variable(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

bool speaks_utf8(const Environment& environment) {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {  // the first that is set decides
    std::string value = variable(environment, name);
    if (value.empty()) continue;
    for (char& c : value) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return false;
}

}  // namespace paddle
