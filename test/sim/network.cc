#include "sim/network.h"

#include <algorithm>
#include <utility>

namespace paddle::sim {

Packet::Packet(uint64_t id, const wire::Body& body, std::span<const wire::Bytes> pieces)
    : message{id, body} {
  for (const wire::Bytes& p : pieces) bulk.insert(bulk.end(), p.begin(), p.end());
  if (auto* b = std::get_if<wire::Push>(&message.body)) {
    push.assign(b->parts.begin(), b->parts.end());
    b->parts = push;
  }
  if (auto* b = std::get_if<wire::Pull>(&message.body)) {
    pull.assign(b->parts.begin(), b->parts.end());
    b->parts = pull;
  }
  if (auto* b = std::get_if<wire::Values>(&message.body)) {
    values.assign(b->parts.begin(), b->parts.end());
    b->parts = values;
  }
}

std::shared_ptr<Pipe> Network::connect(size_t trainer, size_t shard, PipeEnd& from, PipeEnd& to) {
  auto pipe = std::make_shared<Pipe>(*this, trainer, shard, from, to);
  std::erase_if(pipes_, [](const auto& p) { return p.expired(); });
  pipes_.push_back(pipe);
  return pipe;
}

void Network::cut(size_t trainer, size_t shard) {
  for (const auto& weak : pipes_)
    if (const auto p = weak.lock())
      if ((trainer == ~size_t{0} || p->trainer == trainer) && p->shard == shard) p->cut();
}

void Pipe::send(Way way, uint64_t id, const wire::Body& body, std::span<const wire::Bytes> bulk) {
  Direction& d = ways_[index_of(way)];
  if (d.closed || d.receiver == nullptr) return;  // nobody will ever get it
  d.queue.push_back(std::make_unique<Packet>(id, body, bulk));
  network_.most_waiting = std::max(network_.most_waiting, d.queue.size());
  if (d.queue.size() > 1) return;
  d.ready = network_.world.now() + to_duration(network_.delay(trainer, shard));
  pump_at(way, d.ready);
}

void Pipe::close(Way way, const std::string& why) {
  Direction& out = ways_[index_of(way)];
  Direction& in = ways_[1 - index_of(way)];
  in.receiver = nullptr;  // the sender does not listen any more
  in.queue.clear();
  if (out.closed) return;
  out.closed = out.fin = true;
  out.why = why;
  const double late = network_.world.random.between(0, network_.latest_end);
  out.end_from = network_.world.now() + to_duration(late);
  if (out.queue.empty()) pump_at(way, out.end_from);
}

void Pipe::vanish(Way way) {
  Direction& in = ways_[1 - index_of(way)];
  in.receiver = nullptr;
  in.queue.clear();
  ways_[index_of(way)].closed = true;
}

void Pipe::cut() {
  World& w = network_.world;
  for (const Way way : {Way::to_shard, Way::to_trainer}) {
    Direction& d = ways_[index_of(way)];
    if (d.receiver == nullptr) continue;
    // What is on its way may still arrive in part.
    while (!d.queue.empty() && w.random.chance(0.5)) d.queue.pop_back();
    d.closed = d.fin = true;
    d.why = "the connection was reset";
    pump_at(way, w.now() + to_duration(w.random.between(0, network_.latest_end)));
  }
}

void Pipe::pump_at(Way way, Time when) {
  Direction& d = ways_[index_of(way)];
  const uint64_t number = ++d.pumps;
  network_.world.at(when, [self = shared_from_this(), way, number] {
    if (self->ways_[index_of(way)].pumps == number) self->pump(way);
  });
}

void Pipe::pump(Way way) {
  Direction& d = ways_[index_of(way)];
  World& w = network_.world;
  if (d.receiver == nullptr) return;
  const Time from = std::max(network_.silent_until(trainer, shard, way), d.receiver->takes_from());
  if (from > w.now()) return pump_at(way, from);
  if (d.held && d.fin) d.queue.clear();  // it breaks while its receiver holds it
  if (d.queue.empty()) {
    if (!d.fin) return;
    if (d.end_from > w.now()) return pump_at(way, d.end_from);
    PipeEnd* end = std::exchange(d.receiver, nullptr);
    return end->ended(*this, d.why);
  }
  if (d.held) return;
  // The receiver may close the connection, which clears the queue.
  std::unique_ptr<Packet> packet = std::move(d.queue.front());
  d.queue.pop_front();
  const uint64_t number = d.pumps;
  const PipeEnd::Taken taken = d.receiver->take(*this, *packet);
  if (d.receiver == nullptr) return;
  if (taken != PipeEnd::Taken::all) d.queue.push_front(std::move(packet));
  d.held = taken == PipeEnd::Taken::held && d.pumps == number;
  if (d.pumps == number) pump_at(way, w.now() + to_duration(network_.delay(trainer, shard)));
}

void Pipe::resume(Way way) {
  ways_[index_of(way)].held = false;
  pump_at(way, network_.world.now());
}

}  // namespace paddle::sim
