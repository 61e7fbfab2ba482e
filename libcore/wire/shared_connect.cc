#include "wire/shared_connect.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/error.h"
#include "base/log.h"

namespace paddle::wire {
namespace {

struct Address {
  sockaddr_un name{};
  socklen_t bytes = 0;
};

// A name that is no file: it goes with its process, and other network namespaces do not see it.
Address socket_name(const std::string& address) {
  const std::string name = "paddle-pserver " + address;
  Address out{.name = {.sun_family = AF_UNIX, .sun_path = {}}};
  const size_t bytes = std::min(name.size(), sizeof out.name.sun_path - 1);
  std::memcpy(out.name.sun_path + 1, name.data(), bytes);
  out.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + bytes);
  return out;
}

Descriptor new_socket() {
  return Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

// The process at the other end; 0 where it is of another user.
pid_t process_behind(const Descriptor& socket) {
  ucred who{};
  socklen_t bytes = sizeof who;
  const bool known = ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &who, &bytes) == 0;
  return known && who.uid == ::geteuid() ? who.pid : 0;
}

// One message that hands over a descriptor. The length has no room for a second one, which would
// stay open here: the system drops what does not fit.
struct Handover {
  char sign = 'M';
  iovec part{&sign, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};

  Handover() {
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = CMSG_LEN(sizeof(int));
  }
};

bool hand_over(const Descriptor& socket, const Descriptor& memory) {
  Handover h;
  cmsghdr* c = CMSG_FIRSTHDR(&h.message);
  c->cmsg_level = SOL_SOCKET;
  c->cmsg_type = SCM_RIGHTS;
  c->cmsg_len = CMSG_LEN(sizeof(int));
  const int number = memory.get();
  std::memcpy(CMSG_DATA(c), &number, sizeof number);
  return ::sendmsg(socket.get(), &h.message, MSG_NOSIGNAL) == 1;
}

Descriptor handed_over(const Descriptor& socket) {
  Handover h;
  if (::recvmsg(socket.get(), &h.message, MSG_CMSG_CLOEXEC) != 1) return {};
  const cmsghdr* c = CMSG_FIRSTHDR(&h.message);
  if (c == nullptr || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(sizeof(int))) return {};
  int number = -1;
  std::memcpy(&number, CMSG_DATA(c), sizeof number);
  return Descriptor(number);
}

std::string process_text(pid_t process) { return text("process:", process); }

}  // namespace

SharedListener::SharedListener(const asio::any_io_executor& io, const std::string& address,
                               ByteBudget* memory, std::chrono::milliseconds limit)
    : io_(io), memory_(memory), limit_(limit), socket_(io), pause_(io) {
  Descriptor socket = new_socket();
  const Address at = socket_name(address);
  const bool listens =
      socket && ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&at.name), at.bytes) == 0 &&
      ::listen(socket.get(), SOMAXCONN) == 0;
  if (listens)
    socket_.assign(socket.release());
  else
    log_detail(1, text("port ", address, " shares no memory: ", std::strerror(errno)));
}

void SharedListener::accept(std::function<void(std::unique_ptr<Stream>)> on_stream) {
  on_stream_ = std::move(on_stream);
  if (socket_.is_open()) wait();
}

void SharedListener::stop() {
  boost::system::error_code ignored;
  socket_.close(ignored);
  pause_.cancel();
}

void SharedListener::wait() {
  socket_.async_wait(asio::posix::stream_descriptor::wait_read,
                     [this](const boost::system::error_code& error) {
                       if (!error) take_all();
                     });
}

void SharedListener::take_all() {
  for (;;) {
    Descriptor socket(
        ::accept4(socket_.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket) {
      const pid_t process = process_behind(socket);
      if (process != 0) greet(std::move(socket), process_text(process));
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return wait();
    pause_.expires_after(std::chrono::milliseconds(200));  // out of descriptors
    return pause_.async_wait([this](const boost::system::error_code& error) {
      if (!error) wait();
    });
  }
}

// Its first byte comes with the memory. Until then it has one descriptor, of which there may be
// few.
void SharedListener::greet(Descriptor socket, const std::string& peer) {
  const auto watch = std::make_shared<asio::posix::stream_descriptor>(io_, socket.release());
  const auto limit = std::make_shared<asio::steady_timer>(io_, limit_);
  limit->async_wait([watch](boost::system::error_code e) {
    if (!e) watch->cancel(e);
  });
  watch->async_wait(asio::posix::stream_descriptor::wait_read,
                    [this, watch, limit, peer](const boost::system::error_code& e) {
                      limit->cancel();
                      if (e || !socket_.is_open()) return;
                      try {
                        const Descriptor connected(watch->release());
                        Descriptor memory = handed_over(connected);
                        if (!memory) return;
                        SharedRings rings(std::move(memory));
                        if (memory_) rings.claim(*memory_);
                        on_stream_(std::make_unique<SharedStream>(
                            io_, connected, std::move(rings), SharedRings::Side::accepts, peer));
                      } catch (const Error& why) {
                        log_warn(text("closed the connection of ", peer, ": ", why.what()));
                      }
                    });
}

std::unique_ptr<Stream> connect_shared(const asio::any_io_executor& io, const Endpoint& to) {
  const std::string host = to.host == "localhost" ? "127.0.0.1" : to.host;
  if (!host.starts_with("127.")) return nullptr;
  for (const std::string& listening : {host, std::string("0.0.0.0")}) {
    const Descriptor socket = new_socket();
    const Address at = socket_name(Endpoint{listening, to.port}.text());
    if (!socket ||
        ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&at.name), at.bytes) != 0)
      continue;
    const pid_t process = process_behind(socket);
    if (process == 0) return nullptr;
    try {
      SharedRings rings;
      if (!hand_over(socket, rings.descriptor())) return nullptr;
      log_detail(1, text("exchanges with ", to.text(), " through shared memory"));
      return std::make_unique<SharedStream>(io, socket, std::move(rings),
                                            SharedRings::Side::connects, process_text(process));
    } catch (const Error& e) {  // out of memory or descriptors: TCP needs less
      log_detail(1, text("no shared memory with ", to.text(), ": ", e.what()));
      return nullptr;
    }
  }
  return nullptr;
}

}  // namespace paddle::wire
