// What comes from peers and goes to them, before a message has a meaning.
#include <algorithm>

#include "base/log.h"
#include "pserver/shard.h"

namespace paddle {
namespace {

constexpr uint64_t max_discard = uint64_t{1} << 32;  // bulk that is read only to be thrown away
constexpr size_t errors_kept = 10;

void check_parts(size_t parts) {
  require(parts == 1, Error::Kind::protocol, "a message with ", parts,
          " slices; this pserver takes one at a time");
}

}  // namespace

// Bulk for which there is no place is let through unread, and handle() answers why; nothing is
// read for strangers.
wire::Landing Shard::land(Peer& peer, const wire::Message& message, uint64_t bulk) {
  peer.in_place = false;
  peer.landing = {};
  const auto* push = std::get_if<wire::Push>(&message.body);
  const auto* set = std::get_if<wire::SetValue>(&message.body);
  require(peer.is_trainer() && (push || set), Error::Kind::protocol, "a message of type ",
          name_of(message.body), " with ", bulk, " bytes of bulk");
  require(bulk <= max_discard, Error::Kind::protocol, "a message with ", bulk, " bytes of bulk");
  if (set) return land_value(peer, *set, bulk);
  check_parts(push->parts.size());
  const Verdict v = check_push(peer, *push, bulk);
  if (v.kind != Verdict::Kind::take && v.kind != Verdict::Kind::drop)
    return wire::Landing::discard();
  peer.in_place = true;
  peer.landing.slice = v.slice;
  return wire::Landing::into(v.slice->inbox(peer.trainer));
}

// Looks for NaN and Inf while the numbers are in the cache.
void Shard::landed(Peer& peer, std::span<const std::byte> part) {
  auto& l = peer.landing;
  if (l.slice == nullptr) return;
  l.come += part.size();
  const size_t whole = l.come == l.slice->bytes() ? l.come : l.come / 8 * 8;  // elements
  l.finite = l.finite && l.slice->finite(peer.trainer, l.seen, whole - l.seen);
  l.seen = whole;
}

void Shard::handle(Peer& peer, wire::Message& message, uint64_t bulk) {
  dispatch(peer, message, bulk);
  peer.in_place = false;
  peer.landing = {};
  if (settle_until_ != Time{} && even()) asio::post(io_, [this] { finish_stop(); });
}

void Shard::dispatch(Peer& peer, wire::Message& message, uint64_t bulk) {
  const uint64_t id = message.id;
  wire::Body& body = message.body;
  if (auto* m = std::get_if<wire::Hello>(&body)) return hello(peer, id, *m);
  require(peer.greeted, Error::Kind::protocol, "a message of type ", name_of(body),
          " before the greeting");
  if (std::holds_alternative<wire::StatusAsk>(body)) return status(peer, id);
  require(peer.role != wire::Role::observer, Error::Kind::protocol,
          "an observer may ask for the status only");
  if (auto* m = std::get_if<wire::Progress>(&body)) return beat(peer, id, *m);
  if (stopping_ && !settles(body))
    return fail(peer, id, Code::stopping, "this pserver is going down");
  members_->heard(peer.trainer, peer.connection->last_heard());
  require(peer.role == wire::Role::trainer, Error::Kind::protocol,
          "a connection for heartbeats carries nothing else");
  if (auto* m = std::get_if<wire::Push>(&body)) {
    check_parts(m->parts.size());
    return push(peer, id, *m, bulk);
  }
  if (auto* m = std::get_if<wire::Pull>(&body)) {
    check_parts(m->parts.size());
    return pull(peer, id, *m);
  }
  if (auto* m = std::get_if<wire::Configure>(&body)) return configure(peer, id, *m);
  if (auto* m = std::get_if<wire::SetValue>(&body)) return set_value(peer, id, *m, bulk);
  if (auto* m = std::get_if<wire::Join>(&body)) return join(peer, id, *m);
  if (auto* m = std::get_if<wire::Fetch>(&body)) return fetch(peer, id, *m);
  if (auto* m = std::get_if<wire::Rollback>(&body)) return rollback(peer, id, *m);
  if (auto* m = std::get_if<wire::Complete>(&body)) return complete(peer, id, *m);
  throw Error(Error::Kind::protocol, "a message of type ", name_of(body),
              ", which nobody sends to a pserver");
}

// ---- answers

void Shard::touch(Peer& peer) {
  if (peer.touched) return;
  peer.touched = true;
  touched_.push_back(&peer);
}

void Shard::arrived() {
  for (size_t i = 0; i < touched_.size(); ++i) {  // flush() may close, and so touch others
    touched_[i]->touched = false;
    touched_[i]->connection->flush();
  }
  touched_.clear();
}

void Shard::ack(Peer& peer, uint64_t id, wire::Bytes bulk, uint64_t version) {
  peer.connection->send(id, wire::Ack{version}, bulk, wire::Bulk::changes);
  touch(peer);
}

void Shard::fail(Peer& peer, uint64_t id, Code code, const std::string& why) {
  peer.connection->send(id, wire::Failure{code, why});
  touch(peer);
}

void Shard::refuse(Peer& peer, uint64_t id, Code code, const std::string& why) {
  fail(peer, id, code, why);
  peer.connection->flush();
  peer.connection->close(why);
}

void Shard::note_error(const std::string& sentence) {
  log_error(text("port ", port(), ": ", sentence));
  last_errors_.push_back(sentence);
  if (last_errors_.size() > errors_kept) last_errors_.pop_front();
}

// ---- connections that end

void Shard::closed(Peer& peer, const std::string& why) {
  traffic_.add(*peer.connection);
  for (Round& r : rounds_)
    std::erase_if(r.pulls, [&](const Waiting& w) { return w.peer == &peer; });
  const Time now = Clock::now();
  if (!peer.greeted) {
    const std::string line =
        text("port ", port(), ": closed the connection of ", peer.connection->peer(), ": ", why);
    // Who says nothing and leaves at once only looked whether the port is open.
    const bool looked = peer.connection->bytes_in() == 0 &&
                        now - peer.connection->since() < std::chrono::seconds(2);
    looked ? log_detail(1, line) : log_warn(line);
  } else if (peer.is_trainer())
    log_info(text("port ", port(), ": the connection of ", peer.name(), " ended: ", why));
  if (peer.greeted && members_ && peer.role != wire::Role::observer)
    members_->closed(peer.trainer, peer.incarnation, now);
  if (configurer_ == &peer)
    become_empty(text(peer.name(), " left while it was sending the first values"));
  asio::post(io_, [this, &peer] { forget_peer(peer); });
}

// Not in closed(): the connection still stands in a method of the peer.
void Shard::forget_peer(Peer& peer) {
  std::erase(touched_, &peer);
  peers_.remove_if([&](const Peer& p) { return &p == &peer; });
  const bool trainers = std::any_of(peers_.begin(), peers_.end(), [](const Peer& p) {
    return p.greeted && p.role != wire::Role::observer;
  });
  if (trainers || stopping_) return;
  // An identity that nobody stands for any more binds nobody.
  if (state_ == wire::ShardState::empty) {
    identity_.reset();
    members_.reset();
  }
  check_done(Clock::now());
}

}  // namespace paddle
