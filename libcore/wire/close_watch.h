// Notices that the other side of a socket has closed. As long as there are bytes to read, the event
// loop does not report the end behind them; a descriptor that waits for nothing else does.
#pragma once

#include <memory>
#include <optional>

#include "wire/stream.h"

namespace paddle::wire {

class CloseWatch {
 public:
  // Calls user->on_ready(closed) once, and keeps `user` until then.
  void wait(const asio::any_io_executor& io, int socket, std::shared_ptr<StreamUser> user);
  // A pending wait ends with an error.
  void close();

 private:
  std::optional<asio::posix::stream_descriptor> descriptor_;  // readable once the peer has closed
};

}  // namespace paddle::wire
