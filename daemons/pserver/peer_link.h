// One connection of a shard's service.
#pragma once

#include <memory>
#include <string>

#include "pserver/peers.h"
#include "wire/connection.h"

namespace paddle {

class Service;

class PeerLink final : public wire::Handler {
 public:
  PeerLink(Service& service, PeerId id) : service_(service), id_(id) {}
  void start(std::unique_ptr<wire::Stream> stream);

  wire::Landing land(wire::Connection&, const wire::Message& message, uint64_t bulk) override;
  void landed(wire::Connection&, std::span<std::byte> part) override;
  void handle(wire::Connection&, wire::Message& message, uint64_t bulk) override;
  void arrived(wire::Connection&) override;
  void closed(wire::Connection&, const std::string& why) override;

  // Closes a peer that is too slow: does not greet, stops within a message, does not read. An
  // observer that asks for nothing is closed as well.
  void check_deadlines(const Peer& peer, Time now);
  Traffic traffic() const;

  PeerId id() const { return id_; }
  wire::Connection& connection() { return *connection_; }
  bool open() const { return connection_ && connection_->open(); }
  bool touched = false;  // in the service's list of those to flush
  bool ended = false;    // its end waits to be handled

 private:
  Service& service_;
  const PeerId id_;
  std::shared_ptr<wire::Connection> connection_;  // shared with Asio's pending operations
  uint64_t sent_before_ = 0;  // bytes out at the last look, for peers that do not read
  uint64_t frame_ = ~uint64_t{0}, frame_bytes_ = 0;  // the one that was coming at the last look
  Time frame_since_{};                               // and what had come when it was seen first
  Time progress_{};
};

}  // namespace paddle
