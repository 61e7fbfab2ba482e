#include "base/error.h"

#include <sstream>
#include <utility>

namespace paddle {

void print_chars(std::ostream& out, const void* chars) { out << static_cast<const char*>(chars); }

std::string join_text(std::initializer_list<TextPart> parts) {
  std::ostringstream out;
  for (const TextPart& p : parts) p.print(out, p.value);
  return std::move(out).str();
}

Error::Error(Kind kind, std::initializer_list<TextPart> parts)
    : kind_(kind), what_(join_text(parts)) {}

Error& Error::within(std::initializer_list<TextPart> parts) {
  what_ += "\n  while " + join_text(parts);
  return *this;
}

void raise_error(Error::Kind kind, std::initializer_list<TextPart> parts) {
  throw Error(kind, parts);
}

}  // namespace paddle
