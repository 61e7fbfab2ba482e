// A shard that serves: one listening port, one thread, one io_context, and the state machine
// (Shard) that decides everything. Here are the connections, their deadlines, the clock and the
// disk. All methods but stop() belong to the thread in run().
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "pserver/peer_link.h"
#include "pserver/shard.h"
#include "pserver/snapshots.h"
#include "wire/gate.h"
#include "wire/listener.h"

namespace paddle {

class Service {
 public:
  // Binds the port and restores the newest snapshot. Throws Error(config).
  explicit Service(ShardOptions options);
  ~Service();

  uint16_t port() const { return listener_.port(); }
  // Serves until stop(). What it throws is a fault of the program or of the machine.
  void run();
  // From any thread: makes a snapshot, tells the peers and ends.
  void stop();
  // After run(): why the job failed, "" where it did not.
  std::string failure() const { return shard_->failure(); }
  // The longest that one call has kept the thread, in seconds.
  double longest_call() const { return longest_call_; }

  // ---- for the connections
  // For messages; null: no limit.
  ByteBudget* memory() { return options_.memory ? &options_.memory->messages : nullptr; }
  wire::Landing land(PeerLink& link, const wire::Message& message, uint64_t bulk);
  void landed(PeerLink& link, size_t bytes);
  void handle(PeerLink& link, wire::Message& message, uint64_t bulk);
  void closed(PeerLink& link, const std::string& why);
  void flush();

 private:
  void accept(std::unique_ptr<wire::Stream> stream, const wire::Proof& proof);
  void make_place();
  asio::awaitable<void> tick_every_second();
  void tick();
  void proceed();
  void written(uint64_t step, const std::string& problem);
  wire::Status complete_status(wire::Status status);
  void count_traffic();
  void report();
  // Carries out what the shard asks for, after every event.
  void act();
  void send(ShardAction& action);
  void close_unsent();

  const ShardOptions options_;
  asio::io_context io_{1};
  wire::Listener listener_;
  wire::Gate gate_;
  asio::steady_timer timer_;
  std::vector<std::unique_ptr<PeerLink>> links_;  // by PeerId; null where the number is free
  std::vector<PeerLink*> touched_;                // have something to flush
  std::unique_ptr<Snapshots> disk_;
  std::unique_ptr<Shard> shard_;
  std::thread background_;
  Traffic ended_;  // of connections that have ended
  bool acting_ = false, proceeding_ = false;
  double longest_call_ = 0;
  Time snapshot_written_{};  // the last; Time{}: none
};

}  // namespace paddle
