// A stream over TCP.
#pragma once

#include "wire/close_watch.h"
#include "wire/stream.h"

namespace paddle::wire {

class TcpStream final : public Stream {
 public:
  // Takes a connected socket and sets what every socket of ours has, at both ends: no delay, quick
  // notice of a dead peer, and on loopback a congestion control that does not pace.
  explicit TcpStream(tcp::socket socket);

  Moved read_some(std::span<const iovec> parts) override;
  Moved write_some(std::span<const iovec> parts) override;
  void wait(StreamEvent event, std::shared_ptr<StreamUser> user) override;
  void close() override;
  const std::string& peer() const override { return peer_; }
  asio::any_io_executor executor() override { return socket_.get_executor(); }

 private:
  tcp::socket socket_;
  std::string peer_;
  CloseWatch close_watch_;
};

}  // namespace paddle::wire
