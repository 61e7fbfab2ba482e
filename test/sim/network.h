// Simulated TCP connections between trainers and shards: bytes arrive in order or not at all, a
// receiver can hold them back, either way can be silent for a while, a connection can break at any
// byte, and each end learns of the break in its own time.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/world.h"
#include "wire/messages.h"

namespace paddle::sim {

// A message that owns what the spans of its body point to.
struct Packet {
  wire::Message message;
  std::vector<std::byte> bulk;
  std::vector<wire::PushPart> push;
  std::vector<wire::PullPart> pull;
  std::vector<wire::ValuesPart> values;
  size_t taken = 0;  // bytes of the bulk that the receiver has

  Packet(uint64_t id, const wire::Body& body, std::span<const wire::Bytes> pieces);
  Packet(const Packet&) = delete;
  Packet& operator=(const Packet&) = delete;
};

class Pipe;

class PipeEnd {
 public:
  virtual ~PipeEnd() = default;
  enum class Taken { all, more, held };  // `more` bytes of it are still on their way
  virtual Taken take(Pipe& pipe, Packet& packet) = 0;
  // The other side closed it, or it broke.
  virtual void ended(Pipe& pipe, const std::string& why) = 0;
  // A process that is stopped takes nothing before this moment.
  virtual Time takes_from() const = 0;
};

enum class Way { to_shard, to_trainer };
inline size_t index_of(Way way) { return way == Way::to_shard ? 0 : 1; }

class Network {
 public:
  explicit Network(World& world) : world(world) {}
  std::shared_ptr<Pipe> connect(size_t trainer, size_t shard, PipeEnd& from, PipeEnd& to);
  // Nothing travels this way between the two until then.
  void silence(size_t trainer, size_t shard, Way way, Time until) {
    Time& t = silent_[{trainer, shard, index_of(way)}];
    t = std::max(t, until);
  }
  Time silent_until(size_t trainer, size_t shard, Way way) const {
    const auto found = silent_.find({trainer, shard, index_of(way)});
    return found == silent_.end() ? Time{} : found->second;
  }
  // Breaks connections of the two, each at some byte; those of all trainers where it is ~0.
  void cut(size_t trainer, size_t shard);
  double delay(size_t trainer, size_t shard) {
    const bool far = trainer == far_trainer && shard == far_shard;
    return world.random.between(0.00005, far ? 20 * slow : slow);
  }

  World& world;
  double slow = 0.002;       // the longest usual delay, seconds
  double latest_end = 0.01;  // until an end learns that the other one is gone, at most
  size_t far_trainer = ~size_t{0}, far_shard = 0;  // between these two everything takes longer
  size_t most_waiting = 0;                         // messages on one way of a connection, ever

 private:
  std::map<std::tuple<size_t, size_t, size_t>, Time> silent_;
  std::vector<std::weak_ptr<Pipe>> pipes_;
};

class Pipe : public std::enable_shared_from_this<Pipe> {
 public:
  Pipe(Network& network, size_t trainer, size_t shard, PipeEnd& from, PipeEnd& to)
      : trainer(trainer), shard(shard), network_(network) {
    ways_[0].receiver = &to;
    ways_[1].receiver = &from;
  }

  void send(Way way, uint64_t id, const wire::Body& body, std::span<const wire::Bytes> bulk);
  // The sender of this way closes its end: what was sent arrives, then the end.
  void close(Way way, const std::string& why);
  // Nothing more arrives; both ends learn of it.
  void cut();
  // The machine of this way's sender is gone: what is on its way arrives, and never an end.
  void vanish(Way way);
  // After Taken::held.
  void resume(Way way);
  bool open(Way way) const { return !ways_[index_of(way)].closed; }

  const size_t trainer, shard;

 private:
  struct Direction {
    PipeEnd* receiver = nullptr;  // null once it has closed or knows of the end
    std::deque<std::unique_ptr<Packet>> queue;
    Time ready{};         // of the first in the queue
    Time end_from{};      // the end is not heard before
    bool closed = false;  // by its sender, or broken
    bool held = false;    // its receiver takes no more of it for now
    bool fin = false;     // the end is to be reported behind the queue
    std::string why;
    uint64_t pumps = 0;  // the number of the present attempt; older ones are void
  };
  void pump_at(Way way, Time when);
  void pump(Way way);

  Network& network_;
  Direction ways_[2];
};

}  // namespace paddle::sim
