#include "pserver/peer.h"

#include "pserver/shard.h"

namespace paddle {

Peer::Peer(Shard& owner, tcp::socket socket)
    : shard(owner), connection(wire::Connection::start(std::move(socket), *this, true)) {
  progress = connection->since();
}

wire::Landing Peer::land(wire::Connection&, const wire::Message& message, uint64_t bulk) {
  return shard.land(*this, message, bulk);
}

void Peer::landed(wire::Connection&, std::span<std::byte> part) { shard.landed(*this, part); }

void Peer::handle(wire::Connection&, wire::Message& message, uint64_t bulk) {
  shard.handle(*this, message, bulk);
}

void Peer::arrived(wire::Connection&) { shard.arrived(); }

void Peer::closed(wire::Connection&, const std::string& why) { shard.closed(*this, why); }

std::string Peer::name() const {
  if (!greeted) return connection->peer();
  if (role == wire::Role::observer) return process + " at " + connection->peer();
  return text("trainer ", trainer, " (", process, ")");
}

}  // namespace paddle
