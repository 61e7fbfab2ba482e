// What the state machine of a shard wants done: collected while an event is handled, carried out
// afterwards by whoever owns the connections. Reused: in the steady state nothing is allocated.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "pserver/peers.h"

namespace paddle {

using Bytes = std::span<const std::byte>;

struct ShardAction {
  enum class Kind : uint8_t {
    send,
    close,   // after what was sent before
    resume,  // its land() answered `hold`: call it again
  };
  Kind kind = Kind::send;
  PeerId peer = no_peer;
  uint64_t id = 0;                     // of the message
  wire::Body body;                     // `parts` of Values are set by Outbox::body()
  std::string why;                     // close
  bool stays = false;                  // the bulk keeps its place and content until it is sent
  bool live = false;                   // its place only: what is there when it is sent will do
  uint32_t first_part = 0, parts = 0;  // of Values, in the outbox
  uint32_t first_bulk = 0, bulks = 0;  // in the outbox
  std::vector<std::byte> kept;         // bulk that exists nowhere else
};

class Outbox {
 public:
  void send(PeerId to, uint64_t id, wire::Body body) {
    add(ShardAction::Kind::send, to).id = id;
    actions_.back().body = std::move(body);
  }
  void fail(PeerId to, uint64_t id, wire::FailureCode code, std::string why) {
    send(to, id, wire::Failure{code, std::move(why)});
  }
  // Begins Values, whose parts are added next.
  void begin_values(PeerId to, uint64_t id, bool stays) {
    ShardAction& a = add(ShardAction::Kind::send, to);
    a.id = id;
    a.body = wire::Values{};
    a.stays = stays;
    a.first_part = static_cast<uint32_t>(parts_.size());
    a.first_bulk = static_cast<uint32_t>(bulk_.size());
  }
  void add_part(const wire::ValuesPart& part, Bytes values) {
    parts_.push_back(part);
    bulk_.push_back(values);
    ++actions_.back().parts;
    ++actions_.back().bulks;
  }
  ShardAction& last() { return actions_.back(); }
  // Bulk of the message that was sent last.
  void add_bulk(Bytes bulk) {
    if (actions_.back().bulks == 0)
      actions_.back().first_bulk = static_cast<uint32_t>(bulk_.size());
    bulk_.push_back(bulk);
    ++actions_.back().bulks;
  }
  void keep_bulk(Bytes bulk) { actions_.back().kept.assign(bulk.begin(), bulk.end()); }
  // Memory for the bulk of a message, until clear().
  std::span<std::byte> make_bulk(size_t bytes) {
    if (made_used_ == made_.size()) made_.emplace_back();
    Made& m = made_[made_used_++];
    if (m.capacity < bytes) {
      m.memory = std::make_unique_for_overwrite<std::byte[]>(bytes);
      m.capacity = bytes;
    }
    return {m.memory.get(), bytes};
  }
  void close(PeerId peer, std::string why) {
    add(ShardAction::Kind::close, peer).why = std::move(why);
  }
  void resume(PeerId peer) { add(ShardAction::Kind::resume, peer); }

  // For whoever carries them out: more actions may be added meanwhile.
  size_t size() const { return actions_.size(); }
  ShardAction& operator[](size_t i) { return actions_[i]; }
  const wire::Body& body(ShardAction& a) {
    if (auto* v = std::get_if<wire::Values>(&a.body))
      v->parts = std::span(parts_).subspan(a.first_part, a.parts);
    return a.body;
  }
  std::span<const Bytes> bulk(const ShardAction& a) const {
    return std::span(bulk_).subspan(a.first_bulk, a.bulks);
  }
  // Call proceed() of the shard soon, after other events.
  bool continues = false;
  // Memory goes away that bulk of earlier messages may be sent from: whoever has not taken it all
  // yet is closed. Then release the shard's retired stores.
  bool drops_bulk = false;
  bool stopped = false;  // the shard has ended; nothing more will be asked for
  void clear() {
    continues = drops_bulk = false;
    actions_.clear();
    parts_.clear();
    bulk_.clear();
    made_used_ = 0;
  }

 private:
  ShardAction& add(ShardAction::Kind kind, PeerId peer) {
    ShardAction& a = actions_.emplace_back();
    a.kind = kind;
    a.peer = peer;
    return a;
  }

  struct Made {
    std::unique_ptr<std::byte[]> memory;
    size_t capacity = 0;
  };

  std::vector<ShardAction> actions_;
  std::vector<wire::ValuesPart> parts_;
  std::vector<Bytes> bulk_;
  std::vector<Made> made_;  // used again and again
  size_t made_used_ = 0;
};

}  // namespace paddle
