// The one exception type of the project, and the words that go into it.
// An error is a sentence: what happened, where, why, what to do.
#pragma once

#include <exception>
#include <sstream>
#include <string>
#include <utility>

namespace paddle {

// text("step ", 3, " of ", n): parts joined without separators.
template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return std::move(out).str();
}

class Error : public std::exception {
 public:
  // Who must act, and so the exit code of the process (see exit_code()).
  enum class Kind {
    config,    // a flag, an environment variable, a job file, a program: fix it and start again
    data,      // a record, a data file or a model file is not what it should be
    io,        // the disk or the file system said no: may work after room or rights are there
    numeric,   // NaN or Inf where a number was needed
    protocol,  // a peer sent what it must not send
    peer,      // a peer is gone or too slow: trying again may help
  };

  template <class... Parts>
  explicit Error(Kind kind, const Parts&... parts) : kind_(kind), what_(text(parts...)) {}

  // Adds where it happened; called by each layer the error passes through.
  template <class... Parts>
  Error& within(const Parts&... parts) {
    what_ += "\n  while " + text(parts...);
    return *this;
  }

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

template <class... Parts>
void require(bool ok, Error::Kind kind, const Parts&... parts) {
  if (!ok) [[unlikely]]
    throw Error(kind, parts...);
}

}  // namespace paddle
