#include "base/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>

namespace paddle {
namespace {
constexpr std::string_view erase_line = "\r\x1b[K";
}

Terminal::Terminal(int descriptor, bool draws)
    : descriptor_(descriptor), present_(draws && ::isatty(descriptor) == 1) {}

int Terminal::columns() const {
  winsize size{};
  if (::ioctl(descriptor_, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

void Terminal::set_status(const std::string& line) {
  std::lock_guard lock(mutex_);
  std::string out = dots_ ? "\n" : "";
  dots_ = false;
  if (present_ && line != status_) {
    out += erase_line;
    out += line;
    status_ = line;
  }
  put(out);
}

void Terminal::dot() {
  std::lock_guard lock(mutex_);
  if (!status_.empty()) return;
  put(".");
  dots_ = true;
}

// One write per line: lines of several processes that share a terminal or a file stay whole.
void Terminal::put_line(std::string_view line) {
  std::lock_guard lock(mutex_);
  std::string out = dots_ ? "\n" : "";
  dots_ = false;
  if (!status_.empty()) out += erase_line;
  out += line;
  out += status_;
  put(out);
}

// Where stderr itself fails there is no place to report it.
void Terminal::put(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(descriptor_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

}  // namespace paddle
