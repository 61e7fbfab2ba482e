// Tells the service manager that started this process, systemd for example, how it is: ready,
// alive, stopping. The protocol is a datagram to the socket that NOTIFY_SOCKET names.
#pragma once

#include <mutex>
#include <string>
#include <vector>

namespace paddle {

class ServiceManager {
 public:
  // The values of NOTIFY_SOCKET and WATCHDOG_USEC; "" where there is no manager, or where it does
  // not want to hear that the process is alive. `parts` have to say so, each for itself.
  ServiceManager(std::string socket, const std::string& watchdog_microseconds, size_t parts);

  // `status` is shown by the manager.
  void ready(const std::string& status) const { send("READY=1\nSTATUS=" + status); }
  void stopping() const { send("STOPPING=1\nSTATUS=stopping"); }
  // From the thread of a part: it works. The manager hears it when all parts have said it: one that
  // is stuck makes the process be started again.
  void alive(size_t part);

 private:
  void send(const std::string& lines) const;

  const std::string socket_;
  const bool watched_;
  std::mutex mutex_;  // of reported_
  std::vector<bool> reported_;
};

}  // namespace paddle
