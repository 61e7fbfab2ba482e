#include "wire/tcp_stream.h"

#include <netinet/tcp.h>

namespace paddle::wire {
namespace {

// A socket option that some systems lack or refuse: training is right without it.
void set_if_possible(tcp::socket& socket, int level, int name, const void* value, socklen_t size) {
  if (::setsockopt(socket.native_handle(), level, name, value, size) != 0) return;
}

void tune(tcp::socket& socket, bool loopback) {
  const int on = 1;
  set_if_possible(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  // An idle connection whose other end is gone, and whose end was lost on the way, is noticed by
  // this alone: without these times after two hours.
  set_if_possible(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  const int idle = 5, pause = 2;  // seconds
  set_if_possible(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  set_if_possible(socket, IPPROTO_TCP, TCP_KEEPINTVL, &pause, sizeof pause);
  const unsigned limit = 10'000;  // milliseconds that sent bytes may stay unacknowledged
  set_if_possible(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof limit);
  // bbr, the default of some systems, paces loopback to a third of what it can do.
  if (loopback) set_if_possible(socket, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
}

msghdr message_of(std::span<const iovec> parts) {
  msghdr m{};
  m.msg_iov = const_cast<iovec*>(parts.data());
  m.msg_iovlen = parts.size();
  return m;
}

Stream::Moved moved(ssize_t bytes, StreamEvent until) {
  using Kind = Stream::Moved::Kind;
  if (bytes >= 0) return {.kind = Kind::some, .bytes = static_cast<size_t>(bytes)};
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)
    return {.kind = Kind::again, .until = until};
  return {.kind = Kind::failed, .error = {errno, std::generic_category()}};
}

}  // namespace

TcpStream::TcpStream(tcp::socket socket) : socket_(std::move(socket)) {
  boost::system::error_code error;
  const auto peer = socket_.remote_endpoint(error);
  peer_ = error ? "a peer that is gone"
                : peer.address().to_string() + ":" + std::to_string(peer.port());
  tune(socket_, !error && peer.address().is_loopback());
  socket_.non_blocking(true, error);
}

Stream::Moved TcpStream::read_some(std::span<const iovec> parts) {
  msghdr m = message_of(parts);
  const ssize_t got = ::recvmsg(socket_.native_handle(), &m, 0);
  if (got == 0) return {.kind = Moved::Kind::ended};
  return moved(got, StreamEvent::readable);
}

Stream::Moved TcpStream::write_some(std::span<const iovec> parts) {
  const msghdr m = message_of(parts);
  return moved(::sendmsg(socket_.native_handle(), &m, MSG_NOSIGNAL), StreamEvent::writable);
}

void TcpStream::wait(StreamEvent event, std::shared_ptr<StreamUser> user) {
  if (event == StreamEvent::closed)
    return close_watch_.wait(executor(), socket_.native_handle(), std::move(user));
  socket_.async_wait(
      event == StreamEvent::readable ? tcp::socket::wait_read : tcp::socket::wait_write,
      [event, user = std::move(user)](const boost::system::error_code& error) {
        user->on_ready(event, error);
      });
}

void TcpStream::close() {
  boost::system::error_code ignored;
  close_watch_.close();
  socket_.shutdown(tcp::socket::shutdown_both, ignored);
  socket_.close(ignored);
}

}  // namespace paddle::wire
