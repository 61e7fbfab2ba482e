#include "base/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/log.h"

namespace paddle {

ServiceManager::ServiceManager(std::string socket, const std::string& watchdog_microseconds,
                               size_t parts)
    : socket_(std::move(socket)), watched_(!watchdog_microseconds.empty()), reported_(parts) {}

void ServiceManager::alive(size_t part) {
  if (!watched_) return;
  const std::lock_guard lock(mutex_);
  reported_[part] = true;
  if (std::find(reported_.begin(), reported_.end(), false) != reported_.end()) return;
  std::fill(reported_.begin(), reported_.end(), false);
  send("WATCHDOG=1");
}

// The process works without the manager too, so a failure is only logged.
void ServiceManager::send(const std::string& lines) const {
  if (socket_.empty()) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_.size() >= sizeof address.sun_path)
    return log_warn("NOTIFY_SOCKET is too long for the path of a socket: " + socket_);
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';  // an abstract name
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  const Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket || ::sendto(socket.get(), lines.data(), lines.size(), MSG_NOSIGNAL,
                          reinterpret_cast<const sockaddr*>(&address), size) < 0)
    log_warn(text("cannot notify the service manager at ", socket_, ": ", std::strerror(errno)));
}

}  // namespace paddle
