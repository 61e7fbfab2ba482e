// A listening port.
#pragma once

#include <functional>
#include <string>

#include "base/byte_budget.h"
#include "wire/stream.h"

namespace paddle::wire {

// Who can reach a port: everybody where its connections are protected, else this machine.
enum class Reach : uint8_t { loopback, everywhere };

class SharedListener;

class Listener {
 public:
  // Binds and listens; port 0 lets the kernel choose. Throws Error(config) with a remedy where that
  // is not possible: the port is taken (and by whom, where /proc shows it), not allowed, or the
  // address is not of this machine. `host` "" is every address. An address that others can reach is
  // refused where `reach` does not allow it.
  Listener(asio::io_context& io, const std::string& host, uint16_t port,
           Reach reach = Reach::loopback);
  ~Listener();

  uint16_t port() const { return port_; }
  // Takes trainers of this machine over shared memory as well (shared_connect.h), which `memory`,
  // if any, counts. Before accept().
  void share_memory(ByteBudget* memory);
  // Hands every stream to `on_stream` from the thread that runs the io_context, until stop().
  // Out of descriptors it pauses and says so once, instead of spinning.
  void accept(std::function<void(std::unique_ptr<Stream>)> on_stream);
  void stop();

 private:
  asio::awaitable<void> loop(std::function<void(std::unique_ptr<Stream>)> on_stream);

  tcp::acceptor acceptor_;
  std::unique_ptr<SharedListener> shared_;
  uint16_t port_ = 0;
};

}  // namespace paddle::wire
