// Connections within a machine that need no TCP: processes of one user find each other by the
// address that they would use otherwise, and exchange through shared memory (shared_stream.h).
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "wire/shared_stream.h"

namespace paddle::wire {

// Takes such connections beside a port.
class SharedListener {
 public:
  // `address` is that of the port, "127.0.0.1:7164". Where another process has taken the name, the
  // port alone is used. A process that connects has to hand its memory over within `limit`.
  // `memory`, if any, counts that of the streams and outlives them.
  SharedListener(const asio::any_io_executor& io, const std::string& address,
                 ByteBudget* memory = nullptr,
                 std::chrono::milliseconds limit = std::chrono::seconds(10));

  // Hands every stream to `on_stream` from the thread that runs the io_context, until stop().
  void accept(std::function<void(std::unique_ptr<Stream>)> on_stream);
  void stop();

 private:
  void wait();
  void take_all();
  void greet(Descriptor socket, const std::string& peer);

  const asio::any_io_executor io_;
  ByteBudget* const memory_;
  const std::chrono::milliseconds limit_;
  asio::posix::stream_descriptor socket_;
  asio::steady_timer pause_;
  std::function<void(std::unique_ptr<Stream>)> on_stream_;
};

// A stream to who listens there, where that is a process of the same user on this machine; else
// null.
std::unique_ptr<Stream> connect_shared(const asio::any_io_executor& io, const Endpoint& to);

}  // namespace paddle::wire
