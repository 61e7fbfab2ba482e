// The one exception type of the project, and the words that go into it.
// An error is a sentence: what happened, where, why, what to do.
#pragma once

#include <cstddef>
#include <exception>
#include <initializer_list>
#include <ostream>
#include <string>

namespace paddle {

// A part of a sentence and how to print it. The parts are joined in one place: code that joins them
// wherever something can go wrong would be the larger half of a build.
struct TextPart {
  const void* value;
  void (*print)(std::ostream& out, const void* value);
};
template <class T>
TextPart text_part(const T& value) {
  return {&value, [](std::ostream& out, const void* v) { out << *static_cast<const T*>(v); }};
}
void print_chars(std::ostream& out, const void* chars);
template <size_t n>
TextPart text_part(const char (&chars)[n]) {  // one way for literals of all lengths
  return {chars, print_chars};
}
std::string join_text(std::initializer_list<TextPart> parts);

// text("step ", 3, " of ", n): parts joined without separators.
template <class... Parts>
std::string text(const Parts&... parts) {
  return join_text({text_part(parts)...});
}

class Error : public std::exception {
 public:
  // Who must act, and so the exit code of the process (see exit_code()).
  enum class Kind {
    config,    // a flag, an environment variable, a job file, a program: fix it and start again
    data,      // a record, a data file or a model file is not what it should be
    io,        // the disk or the file system refused: may work once there is space or permission
    numeric,   // NaN or Inf where a number was needed
    protocol,  // a peer sent what it must not send
    peer,      // a peer is gone or too slow: trying again may help
  };

  template <class... Parts>
  explicit Error(Kind kind, const Parts&... parts) : Error(kind, {text_part(parts)...}) {}
  Error(Kind kind, std::initializer_list<TextPart> parts);

  // Adds where it happened; called by each layer the error passes through.
  template <class... Parts>
  Error& within(const Parts&... parts) {
    return within({text_part(parts)...});
  }
  Error& within(std::initializer_list<TextPart> parts);

  Kind kind() const { return kind_; }
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  Kind kind_;
  std::string what_;
};

// Documented in docs/exit-codes.md; 1 is kept for what is not an Error at all.
constexpr int exit_code(Error::Kind kind) {
  switch (kind) {
    case Error::Kind::config: return 2;
    case Error::Kind::data: return 3;
    case Error::Kind::io: return 4;
    case Error::Kind::numeric: return 5;
    case Error::Kind::protocol: return 6;
    case Error::Kind::peer: return 7;
  }
  return 1;
}

[[noreturn]] void raise_error(Error::Kind kind, std::initializer_list<TextPart> parts);

template <class... Parts>
void require(bool ok, Error::Kind kind, const Parts&... parts) {
  if (!ok) [[unlikely]]
    raise_error(kind, {text_part(parts)...});
}

}  // namespace paddle
