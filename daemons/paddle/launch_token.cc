#include "paddle/launch_token.h"

#include <poll.h>
#include <unistd.h>

#include "base/error.h"
#include "wire/token.h"

namespace paddle {
namespace {

constexpr int input_milliseconds = 15'000;

// Byte by byte: what follows the line is for somebody else.
Secret input_line() {
  Secret line(wire::max_token_file);
  for (size_t at = 0; at < line.size(); ++at) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    const bool came = ::poll(&input, 1, input_milliseconds) == 1 &&
                      ::read(STDIN_FILENO, &line.bytes()[at], 1) == 1;
    require(came, Error::Kind::peer, "no token came in as the first line of the input");
    if (line.bytes()[at] != std::byte{'\n'}) continue;
    line.shorten(at + 1);
    return line;
  }
  throw Error(Error::Kind::config, "the first line of the input is no token");
}

}  // namespace

LaunchToken::LaunchToken(std::string path, bool from_input) : path_(std::move(path)) {
  if (path_.empty()) return;
  const Secret text = from_input ? input_line() : wire::new_token_text();
  wire::parse_token(text.bytes(), "the first line of the input");
  write_secret_file(path_, text.bytes(), true);
}

LaunchToken::~LaunchToken() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

}  // namespace paddle
