// A terminal without a screen: what a program writes to device() is read back as bytes.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

namespace paddle {

class PseudoTerminal {
 public:
  explicit PseudoTerminal(unsigned short columns = 80) {
    reader_ = ::posix_openpt(O_RDWR | O_NOCTTY);
    if (reader_ < 0 || ::grantpt(reader_) != 0 || ::unlockpt(reader_) != 0)
      throw std::runtime_error("no pseudo-terminal");
    device_ = ::open(::ptsname(reader_), O_RDWR | O_NOCTTY);
    if (device_ < 0) throw std::runtime_error("no pseudo-terminal device");
    resize(columns);
  }
  ~PseudoTerminal() {
    ::close(device_);
    ::close(reader_);
  }
  PseudoTerminal(const PseudoTerminal&) = delete;
  PseudoTerminal& operator=(const PseudoTerminal&) = delete;

  int device() const { return device_; }
  void resize(unsigned short columns) {
    winsize size{};
    size.ws_row = 24;
    size.ws_col = columns;
    ::ioctl(device_, TIOCSWINSZ, &size);
  }

  // Everything written so far and not read yet. Newlines arrive as \r\n, as on any terminal.
  std::string read() {
    std::string all;
    char buffer[4096];
    pollfd wait{reader_, POLLIN, 0};
    while (::poll(&wait, 1, 0) == 1 && (wait.revents & POLLIN) != 0) {
      const ssize_t n = ::read(reader_, buffer, sizeof buffer);
      if (n <= 0) break;
      all.append(buffer, static_cast<size_t>(n));
    }
    return all;
  }

 private:
  int reader_ = -1, device_ = -1;
};

// The same for a pipe.
class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_, O_CLOEXEC | O_NONBLOCK) != 0) throw std::runtime_error("no pipe");
  }
  ~Pipe() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int device() const { return ends_[1]; }
  std::string read() {
    std::string all;
    char buffer[4096];
    for (ssize_t n; (n = ::read(ends_[0], buffer, sizeof buffer)) > 0;)
      all.append(buffer, static_cast<size_t>(n));
    return all;
  }

 private:
  int ends_[2];
};

}  // namespace paddle
