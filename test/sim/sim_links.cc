#include "sim/sim_links.h"

#include <algorithm>

namespace paddle::sim {

SimLinks::SimLinks(TrainerHost& host, const std::vector<std::string>& endpoints,
                   double peer_timeout)
    : Links(endpoints, peer_timeout, *this),
      host_(host),
      data_(endpoints.size()),
      beats_(endpoints.size()),
      news_(endpoints.size()) {
  for (size_t i = 0; i < endpoints.size(); ++i) {
    data_[i].owner = beats_[i].owner = this;
    data_[i].shard = beats_[i].shard = i;
    beats_[i].beats = true;
  }
  host_.links_ = this;
}

SimLinks::~SimLinks() {
  *lives_ = false;
  host_.links_ = nullptr;
  for (auto* lines : {&data_, &beats_})
    for (Line& l : *lines) drop(l, "the other side closed it");
}

void SimLinks::later(double wait, std::function<void()> what) {
  host_.network_.world.after(wait, [this, lives = lives_, what = std::move(what)] {
    if (!*lives) return;
    const Time world = host_.network_.world.now();
    if (host_.frozen_until_ > world)
      return later(seconds(world, host_.frozen_until_),
                   std::move(const_cast<std::function<void()>&>(what)));
    what();
  });
}

// ---- connections

void SimLinks::drop(Line& line, const std::string& why) {
  if (!line.pipe) return;
  if (host_.vanished_)
    line.pipe->vanish(Way::to_shard);
  else
    line.pipe->close(Way::to_shard, why);
  line.pipe.reset();
}

void SimLinks::greet(size_t shard, const wire::Hello& hello) {
  hang_up(shard);
  connect(data_[shard], data_[shard].attempt, hello);
}

void SimLinks::hang_up(size_t shard) {
  ++data_[shard].attempt;
  drop(data_[shard], "the trainer connects again");
  (*this)[shard].dropped();
}

// The pause before an attempt grows with those that failed.
void SimLinks::connect(Line& line, uint64_t attempt, const wire::Hello& hello) {
  const double pause =
      line.failed == 0 ? 0 : std::min(0.02 * (1 << std::min(line.failed - 1, 10)), 1.0);
  later(pause + host_.network_.delay(host_.index_, line.shard), [this, &line, attempt, hello] {
    if (attempt != line.attempt) return;
    Network& network = host_.network_;
    PserverHost& to = *host_.pservers_[line.shard];
    ++line.failed;
    const Time silent = std::max(network.silent_until(host_.index_, line.shard, Way::to_shard),
                                 network.silent_until(host_.index_, line.shard, Way::to_trainer));
    if (!to.alive() || silent > network.world.now()) {
      if (!line.beats) (*this)[line.shard].unreachable("connection refused");
      return connect(line, attempt, hello);
    }
    line.pipe = network.connect(host_.index_, line.shard, line, to);
    line.heard = now();
    line.echo = 0;
    to.accept(line.pipe);
    wire::Hello h = hello;
    h.shard = static_cast<uint32_t>(line.shard);
    line.pipe->send(Way::to_shard, 0, h, {});
    if (line.beats) beat(line, attempt);
  });
}

void SimLinks::send(uint32_t shard, const wire::Push& push, std::span<const wire::Bytes> bulk) {
  if (open(shard)) data_[shard].pipe->send(Way::to_shard, 0, push, bulk);
}

void SimLinks::send(uint32_t shard, const wire::Pull& pull) {
  if (open(shard)) data_[shard].pipe->send(Way::to_shard, 0, pull, {});
}

void SimLinks::send(uint32_t shard, uint64_t id, const wire::PullRows& pull, wire::Bytes ids) {
  if (open(shard)) data_[shard].pipe->send(Way::to_shard, id, pull, std::span(&ids, 1));
}

void SimLinks::request(size_t shard, uint64_t id, const wire::Body& body, wire::Bytes bulk) {
  if (open(shard))
    data_[shard].pipe->send(Way::to_shard, id, body,
                            std::span<const wire::Bytes>(&bulk, bulk.empty() ? 0 : 1));
}

// ---- what arrives

PipeEnd::Taken SimLinks::Line::take(Pipe& from, Packet& packet) {
  if (&from != pipe.get()) return Taken::all;
  heard = owner->now();
  // As in a real trainer: who is told to come again makes pauses.
  if (beats || std::holds_alternative<wire::Welcome>(packet.message.body)) failed = 0;
  if (beats) {
    ShardNews& news = owner->news_[shard];
    news.heard = heard;
    if (auto* ack = std::get_if<wire::BeatAck>(&packet.message.body)) {
      echo = ack->number;
      news = news_of(std::move(*ack), heard);
    } else if (const auto* failure = std::get_if<wire::Failure>(&packet.message.body);
               failure && failure->code == wire::FailureCode::job_failed) {
      news.failure = failure->message;
    }
    return Taken::all;
  }
  // The pipe keeps the packet no longer than this call.
  std::vector<wire::Bytes> bulk{packet.bulk};
  owner->arrivals_.push_back(
      {this, pipe, std::make_unique<Packet>(packet.message.id, packet.message.body, bulk), ""});
  owner->host_.wake();
  return Taken::all;
}

void SimLinks::Line::ended(Pipe& from, const std::string& why) {
  if (&from != pipe.get()) return;
  if (beats) {
    owner->drop(*this, why);
    owner->news_[shard].waiting.clear();
    const uint64_t number = attempt;
    owner->later(1, [this, number] {
      if (number == attempt && !pipe) owner->connect(*this, attempt, owner->beat_hello_);
    });
    return;
  }
  owner->arrivals_.push_back({this, pipe, nullptr, why});
  owner->host_.wake();
}

void SimLinks::poll() {
  while (!arrivals_.empty()) {
    Arrival a = std::move(arrivals_.front());
    arrivals_.pop_front();
    if (const auto from = a.pipe.lock(); from && from == a.line->pipe) apply(a);
  }
}

void SimLinks::apply(Arrival& a) {
  LinkState& state = (*this)[a.line->shard];
  if (!a.packet) {
    drop(*a.line, a.why);
    return state.closed(a.why);
  }
  try {
    Packet& p = *a.packet;
    if (!p.bulk.empty()) {
      const std::byte* from = p.bulk.data();
      for (const std::span<std::byte>& piece : state.land(p.message, p.bulk.size())) {
        std::copy_n(from, piece.size(), piece.data());
        from += piece.size();
      }
    }
    state.handle(p.message);
  } catch (const Error& e) {
    drop(*a.line, e.what());
    state.closed(e.what());
  }
}

void SimLinks::sleep_until(Time until) {
  if (arrivals_.empty()) host_.sleep_until(until);
  poll();
}

// ---- heartbeats

void SimLinks::start(const wire::Hello& hello) {
  stop();
  beat_hello_ = hello;
  beat_hello_.role = wire::Role::beat;
  for (Line& l : beats_) {
    news_[l.shard] = {.waiting = {}, .failure = {}, .heard = now()};
    connect(l, l.attempt, beat_hello_);
  }
}

void SimLinks::stop() {
  for (Line& l : beats_) {
    ++l.attempt;
    drop(l, "the heartbeat ends");
  }
}

void SimLinks::beat(Line& line, uint64_t attempt) {
  if (attempt != line.attempt || !line.pipe) return;
  progress_.echo = line.echo;
  line.pipe->send(Way::to_shard, progress_.error.empty() ? 0 : 1, progress_, {});
  later(host_.network_.world.random.between(0.98, 1.02),
        [this, &line, attempt, pipe = std::weak_ptr(line.pipe)] {
          if (line.pipe == pipe.lock()) beat(line, attempt);
        });
}

void SimLinks::send_final_error(const std::string& message) {
  progress_.error = message;
  for (Line& l : beats_)
    if (l.pipe) l.pipe->send(Way::to_shard, 1, progress_, {});
}

}  // namespace paddle::sim
