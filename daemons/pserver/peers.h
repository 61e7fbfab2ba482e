// The connections of a shard as its state machine sees them: a number for each, and who is behind
// it. No sockets.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "wire/handshake.h"
#include "wire/messages.h"

namespace paddle {

// Given by whoever owns the connections; used again only after the shard was told that it ended.
using PeerId = uint32_t;
inline constexpr PeerId no_peer = ~PeerId{0};

struct Traffic {
  uint64_t bytes_in = 0, bytes_out = 0, messages_in = 0, messages_out = 0;
  Traffic& operator+=(const Traffic& o) {
    bytes_in += o.bytes_in;
    bytes_out += o.bytes_out;
    messages_in += o.messages_in;
    messages_out += o.messages_out;
    return *this;
  }
};

// A trainer's process, as shards tell it from others with the same id. It has one number as long as
// it runs, and counts how often it had to join again because its lease had ended on some shard: a
// newer renewal replaces an older one at once, on all shards, whatever became of its connections.
struct Incarnation {
  uint64_t process = 0;  // 0 for none
  uint32_t renewal = 0;

  bool operator==(const Incarnation&) const = default;
  explicit operator bool() const { return process != 0; }
  // This one, or an older one of the same process.
  bool covers(const Incarnation& o) const { return process == o.process && renewal >= o.renewal; }
};

struct Peer {
  bool open = false, greeted = false;
  wire::Role role = wire::Role::observer;
  uint32_t trainer = 0;
  Incarnation incarnation;
  std::string process, address;
  wire::Proof proof;
  bool waits = false;            // it was asked to greet again, and will do so again and again
  bool held = false;             // what comes next was sent some time ago
  bool values_unwanted = false;  // its configuration was refused: the rest of it is ignored
  Traffic traffic;               // as the owner of the connection last said

  bool is_member() const { return open && greeted && wire::takes_part(role); }
  bool is_trainer() const { return open && greeted && role == wire::Role::trainer; }
  // "trainer 1 (host:pid)", or the address.
  std::string name() const {
    if (!greeted) return address;
    if (!wire::takes_part(role)) return process + " at " + address;
    return text("trainer ", trainer, " (", process, ")");
  }
};

// By PeerId.
using Peers = std::vector<Peer>;

}  // namespace paddle
