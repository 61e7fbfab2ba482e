// One connection of a shard and who is behind it.
#pragma once

#include <memory>
#include <string>

#include "wire/connection.h"

namespace paddle {

class Shard;
class Slice;

class Peer final : public wire::Handler {
 public:
  Peer(Shard& shard, tcp::socket socket);

  wire::Landing land(wire::Connection&, const wire::Message& message, uint64_t bulk) override;
  void landed(wire::Connection&, std::span<std::byte> part) override;
  void handle(wire::Connection&, wire::Message& message, uint64_t bulk) override;
  void arrived(wire::Connection&) override;
  void closed(wire::Connection&, const std::string& why) override;

  bool is_trainer() const { return greeted && role == wire::Role::trainer; }
  std::string name() const;  // "trainer 1 (host:pid)", or the address

  Shard& shard;
  std::shared_ptr<wire::Connection> connection;  // shared with Asio's pending operations
  bool greeted = false;
  wire::Role role = wire::Role::observer;
  uint32_t trainer = 0;
  uint64_t incarnation = 0;
  std::string process, program;
  bool touched = false;   // in the shard's list of those to flush
  bool in_place = false;  // the bulk of the message at hand lies where it belongs
  struct {                // a gradient on its way into the inbox of a slice
    const Slice* slice = nullptr;
    size_t come = 0, seen = 0;  // bytes that are there, and that were looked at
    bool finite = true;         // so far
  } landing;
  bool values_unwanted = false;  // its configuration was refused: the rest of it is ignored
  uint64_t sent_before = 0;      // bytes out at the last look, for peers that do not read
  uint64_t frame = ~uint64_t{0}, frame_bytes = 0;  // the one that was coming at the last look
  wire::Clock::time_point frame_since{};           // and what had come when it was seen first
  wire::Clock::time_point progress{};
};

}  // namespace paddle
