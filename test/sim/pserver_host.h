// A simulated pserver process: the real state machine of a shard, its disk, its connections.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pserver/shard.h"
#include "sim/disk.h"
#include "sim/network.h"

namespace paddle::sim {

class PserverHost final : public PipeEnd {
 public:
  struct Machine {
    LocalClock clock;
    bool disk = false;
    double slowest_write = 0.05;  // of its disk, seconds
  };
  PserverHost(Network& network, size_t index, const ShardOptions& options, const Machine& machine);
  ~PserverHost() override { kill(); }

  void start();
  // Ends it as kill -9 does.
  void kill();
  // SIGTERM.
  void stop();
  void freeze(double seconds);
  bool alive() const { return shard_ != nullptr; }
  Disk& disk() { return disk_; }
  const std::string& failure() const { return shard_->failure(); }
  // Whether the lease of some trainer has ended here.
  bool lost_any() const { return lost_any_; }

  // A new connection; the caller has found it alive.
  void accept(const std::shared_ptr<Pipe>& pipe);
  Taken take(Pipe& pipe, Packet& packet) override;
  void ended(Pipe& pipe, const std::string& why) override;
  Time takes_from() const override { return frozen_until_; }

 private:
  PeerId peer_of(const Pipe& pipe) const;
  Taken land(PeerId peer, Pipe& pipe, Packet& packet);
  void gone(PeerId peer, const std::string& why);
  void act();
  Time now() const { return machine_.clock.local(network_.world.now()); }
  void tick_later();
  // Calls back while this process lives, and not while it is frozen.
  void later(Time when, void (PserverHost::*what)());
  void tick();
  void proceed();

  Network& network_;
  const size_t index_;
  const ShardOptions options_;
  const Machine machine_;
  Disk disk_;
  std::unique_ptr<Shard> shard_;
  std::vector<std::shared_ptr<Pipe>> peers_;
  struct Place {
    std::span<std::byte> memory;
    bool discards = false, given = false;
  };
  std::vector<Place> places_;  // of the message at hand, by peer
  Time frozen_until_{};
  uint64_t life_ = 0;
  bool acting_ = false, proceeding_ = false, lost_any_ = false;
};

}  // namespace paddle::sim
