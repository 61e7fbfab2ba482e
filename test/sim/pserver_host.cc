#include "sim/pserver_host.h"

#include <algorithm>
#include <cstring>

namespace paddle::sim {

PserverHost::PserverHost(Network& network, size_t index, const ShardOptions& options,
                         const Machine& machine)
    : network_(network),
      index_(index),
      options_(options),
      machine_(machine),
      disk_(network.world, machine.slowest_write) {}

void PserverHost::start() {
  World& w = network_.world;
  ++life_;
  w.trace("pserver ", index_, " starts");
  frozen_until_ = {};
  proceeding_ = false;
  shard_ = std::make_unique<Shard>(options_, machine_.disk ? &disk_ : nullptr,
                                   text("pserver ", index_, ": "), w.random.bits() | 1, now());
  disk_.written = [this](uint64_t step, const std::string& problem) {
    shard_->written(step, problem, now());
    act();
  };
  act();
  tick_later();
}

void PserverHost::kill() {
  if (!shard_) return;
  network_.world.trace("pserver ", index_, " is killed");
  ++life_;
  for (const auto& pipe : peers_)
    if (pipe) pipe->close(Way::to_trainer, "the other side closed it");
  peers_.clear();
  places_.clear();
  disk_.crash();
  shard_.reset();
}

void PserverHost::stop() {
  if (!shard_) return;
  network_.world.trace("pserver ", index_, " is asked to stop");
  shard_->stop(now());
  act();
}

void PserverHost::freeze(double s) {
  frozen_until_ = std::max(frozen_until_, network_.world.now() + to_duration(s));
}

// ---- time

void PserverHost::later(Time when, void (PserverHost::*what)()) {
  network_.world.at(when, [this, what, life = life_] {
    if (life != life_) return;
    if (frozen_until_ > network_.world.now()) return later(frozen_until_, what);
    (this->*what)();
  });
}

// A little off, as clocks are.
void PserverHost::tick_later() {
  const double wait = network_.world.random.between(0.98, 1.02) / machine_.clock.rate;
  later(network_.world.now() + to_duration(wait), &PserverHost::tick);
}

void PserverHost::tick() {
  if (options_.leases.policy != LossPolicy::wait && !lost_any_) {
    const std::vector<wire::MemberStatus> before = shard_->status(now()).members;
    shard_->tick(now());
    const std::vector<wire::MemberStatus> after = shard_->status(now()).members;
    for (const auto& m : after) lost_any_ = lost_any_ || m.state == name_of(MemberState::lost);
    // The job has ended with the lease of its last trainer.
    for (const auto& m : before)
      lost_any_ = lost_any_ || (after.empty() && m.state == name_of(MemberState::joined));
  } else {
    shard_->tick(now());
  }
  act();
  if (shard_) tick_later();
}

void PserverHost::proceed() {
  proceeding_ = false;
  shard_->proceed(now());
  act();
}

// ---- connections

void PserverHost::accept(const std::shared_ptr<Pipe>& pipe) {
  const auto unused = std::find(peers_.begin(), peers_.end(), nullptr);
  const auto id = static_cast<PeerId>(unused - peers_.begin());
  if (unused == peers_.end()) {
    peers_.emplace_back();
    places_.emplace_back();
  }
  peers_[id] = pipe;
  places_[id] = {};
  shard_->opened(id, text("trainer-", pipe->trainer), now());
}

PeerId PserverHost::peer_of(const Pipe& pipe) const {
  for (PeerId i = 0; i < peers_.size(); ++i)
    if (peers_[i].get() == &pipe) return i;
  return no_peer;
}

void PserverHost::ended(Pipe& pipe, const std::string& why) {
  const PeerId peer = peer_of(pipe);
  if (peer == no_peer) return;
  pipe.close(Way::to_trainer, why);
  gone(peer, why);
}

void PserverHost::gone(PeerId peer, const std::string& why) {
  const auto keep = std::move(peers_[peer]);
  shard_->gone(peer, why, now());
  peers_[peer].reset();
  act();
}

// ---- messages

PipeEnd::Taken PserverHost::take(Pipe& pipe, Packet& packet) {
  const PeerId peer = peer_of(pipe);
  if (peer == no_peer) return Taken::all;
  try {
    const Taken taken = packet.bulk.empty() ? Taken::all : land(peer, pipe, packet);
    if (taken != Taken::all || peer_of(pipe) != peer) return taken;
    places_[peer] = {};
    if (const auto* push = std::get_if<wire::Push>(&packet.message.body);
        push && network_.world.traces() && packet.bulk.size() >= 4) {
      float first = 0;
      std::memcpy(&first, packet.bulk.data(), sizeof first);
      network_.world.trace("pserver ", index_, " has step ", push->step, " of trainer ",
                           pipe.trainer, ", epoch ", push->epoch, ": ", first);
    }
    shard_->handle(peer, packet.message, packet.bulk.size(), now());
  } catch (const Error& e) {
    network_.world.trace("pserver ", index_, " closes a connection: ", e.what());
    act();
    if (peer_of(pipe) == peer) {
      pipe.close(Way::to_trainer, e.what());
      gone(peer, e.what());
    }
    return Taken::all;
  }
  act();
  return Taken::all;
}

// The bulk comes in up to three pieces.
PipeEnd::Taken PserverHost::land(PeerId peer, Pipe& pipe, Packet& packet) {
  World& w = network_.world;
  if (!places_[peer].given) {
    const LandingPlace place = shard_->land(peer, packet.message, packet.bulk.size(), now());
    act();
    if (peer_of(pipe) != peer) return Taken::all;
    if (place.kind == LandingPlace::Kind::hold) return Taken::held;
    places_[peer] = {place.memory, place.kind == LandingPlace::Kind::discard, true};
  }
  const size_t left = packet.bulk.size() - packet.taken;
  const size_t take = w.random.chance(0.6) ? left : w.random.below(left + 1);
  Place& p = places_[peer];
  if (!p.discards) {
    std::copy_n(packet.bulk.data() + packet.taken, take, p.memory.data() + packet.taken);
    shard_->landed(peer, take);
  }
  packet.taken += take;
  return packet.taken == packet.bulk.size() ? Taken::all : Taken::more;
}

// ---- actions

void PserverHost::act() {
  if (acting_) return;
  acting_ = true;
  Outbox& out = shard_->outbox();
  std::vector<PeerId> ends;
  for (size_t i = 0; i < out.size(); ++i) {
    ShardAction& a = out[i];
    const auto pipe = a.peer < peers_.size() ? peers_[a.peer] : nullptr;
    if (!pipe) continue;
    if (a.kind == ShardAction::Kind::send) {
      const Bytes kept(a.kept);
      pipe->send(Way::to_trainer, a.id, out.body(a),
                 a.kept.empty() ? out.bulk(a) : std::span(&kept, 1));
    }
    if (a.kind == ShardAction::Kind::resume) pipe->resume(Way::to_shard);
    if (a.kind == ShardAction::Kind::close) {
      pipe->close(Way::to_trainer, a.why);
      ends.push_back(a.peer);
    }
  }
  if (out.continues && !proceeding_) {
    proceeding_ = true;
    later(network_.world.now(), &PserverHost::proceed);
  }
  const bool stopped = out.stopped;
  out.clear();
  shard_->release_retired();
  acting_ = false;
  for (const PeerId p : ends)
    if (p < peers_.size() && peers_[p]) gone(p, "closed here");
  if (stopped) {
    disk_.drain();
    kill();
  }
}

}  // namespace paddle::sim
