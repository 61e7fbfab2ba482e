#include "bench/raw.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "bench/generator.h"

namespace paddle::bench {
namespace {

void check(bool ok, const char* what) {
  if (!ok) throw io_error(what, "a raw socket", errno);
}

sockaddr_in loopback(uint16_t port) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return at;
}

// As many pieces of memory, of the kind that tensors have.
std::vector<Tensor> memory(size_t count, size_t size) {
  std::vector<Tensor> out;
  for (size_t i = 0; i < count; ++i) {
    out.emplace_back(DType::u8, Shape{static_cast<int64_t>(size)});
    std::memset(out.back().raw(), 1, size);
  }
  return out;
}
char* bytes(const Tensor& t) { return static_cast<char*>(t.raw()); }

bool none_now() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

// All of it, sleeping or spinning as the socket's mode says. False at the end of the connection.
bool read_all(int socket, char* to, size_t size) {
  while (size > 0) {
    const ssize_t n = ::recv(socket, to, size, 0);
    if (n < 0 && none_now()) continue;
    if (n <= 0) return false;
    to += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

bool write_all(int socket, const char* from, size_t size) {
  while (size > 0) {
    const ssize_t n = ::send(socket, from, size, MSG_NOSIGNAL);
    if (n < 0 && none_now()) continue;
    if (n <= 0) return false;
    from += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

std::vector<double> serve(int listener, const RawOptions& o) {
  if (o.server_cpu >= 0) pin(o.server_cpu);
  const int socket = ::accept(listener, nullptr, nullptr);
  check(socket >= 0, "accept");
  tune_raw(socket);
  if (o.spins) check(::fcntl(socket, F_SETFL, O_NONBLOCK) == 0, "set up");
  const auto in = memory(o.window, o.request), out = memory(o.window, o.answer);
  for (size_t k = 0;; k = (k + 1) % o.window)
    if (!read_all(socket, bytes(in[k]), o.request) || !write_all(socket, bytes(out[k]), o.answer))
      return {};
}

}  // namespace

void tune_raw(int socket) {
  const int on = 1;
  check(::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0, "set up");
  if (::setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, "reno", 4) != 0)
    return;  // as every stream of ours
}

std::string congestion_control() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  check(socket >= 0, "make");
  tune_raw(socket);
  char name[32] = "";
  socklen_t size = sizeof name;
  const bool known = ::getsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name, &size) == 0;
  ::close(socket);
  return known ? name : "unknown";
}

Raw::Raw(const RawOptions& options)
    : options_(options),
      out_(memory(options.window, options.request)),
      in_(memory(options.window, options.answer)) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at = loopback(0);
  socklen_t size = sizeof at;
  check(::bind(listener, reinterpret_cast<sockaddr*>(&at), size) == 0, "bind");
  check(::listen(listener, 1) == 0, "listen on");
  check(::getsockname(listener, reinterpret_cast<sockaddr*>(&at), &size) == 0, "name");
  server_ = std::make_unique<Child>([&] { return serve(listener, options_); });
  ::close(listener);
  socket_ = ::socket(AF_INET, SOCK_STREAM, 0);
  check(::connect(socket_, reinterpret_cast<sockaddr*>(&at), size) == 0, "connect");
  tune_raw(socket_);
}

Raw::~Raw() { ::close(socket_); }

void Raw::advance(size_t window) {
  for (;;) {
    bool moved = false, full = false;
    while (sent_ < begun_ || sent_ - answered_ < window) {
      if (sent_ == begun_) ++begun_;
      const ssize_t n = ::send(socket_, bytes(out_[sent_ % options_.window]) + out_at_,
                               options_.request - out_at_, MSG_NOSIGNAL);
      check(n > 0 || none_now(), "write to");
      full = n <= 0;
      if (full) break;
      moved = true;
      out_at_ += static_cast<size_t>(n);
      if (out_at_ < options_.request) continue;
      out_at_ = 0;
      ++sent_;
    }
    while (answered_ < sent_) {
      const ssize_t n = ::recv(socket_, bytes(in_[answered_ % options_.window]) + in_at_,
                               options_.answer - in_at_, 0);
      check(n > 0 || (n < 0 && none_now()), "read from");
      if (n < 0) break;
      moved = true;
      in_at_ += static_cast<size_t>(n);
      if (in_at_ < options_.answer) continue;
      in_at_ = 0;
      ++answered_;
    }
    if (moved) return;
    if (options_.spins) continue;
    pollfd p{socket_, static_cast<short>(POLLIN | (full ? POLLOUT : 0)), 0};
    ::poll(&p, 1, -1);
  }
}

double Raw::rate(double secs) {
  const uint64_t before = answered_;
  const double start = seconds(), end = start + secs;
  // Where both ways are never full at once, blocking calls are the shortest way.
  const bool plain = options_.window == 1 || std::min(options_.request, options_.answer) <= 64;
  check(::fcntl(socket_, F_SETFL, plain ? 0 : O_NONBLOCK) == 0, "set up");
  while (seconds() < end)
    if (plain)
      advance_plain();
    else
      advance(options_.window);
  while (answered_ < begun_)
    if (plain)
      read_answer();
    else
      advance(0);
  return static_cast<double>(answered_ - before) / (seconds() - start);
}

void Raw::advance_plain() {
  while (sent_ - answered_ < options_.window) {
    check(write_all(socket_, bytes(out_[sent_ % options_.window]), options_.request), "write to");
    begun_ = ++sent_;
  }
  read_answer();
}

void Raw::read_answer() {
  check(read_all(socket_, bytes(in_[answered_ % options_.window]), options_.answer), "read from");
  ++answered_;
}

// Sleeping means blocking calls here, the quickest way to sleep.
std::vector<double> Raw::latencies(size_t count) {
  check(::fcntl(socket_, F_SETFL, options_.spins ? O_NONBLOCK : 0) == 0, "set up");
  std::vector<double> out;
  while (out.size() < count) {
    const double start = seconds();
    check(write_all(socket_, bytes(out_[0]), options_.request), "write to");
    check(read_all(socket_, bytes(in_[0]), options_.answer), "read from");
    out.push_back(seconds() - start);
  }
  return out;
}

}  // namespace paddle::bench
