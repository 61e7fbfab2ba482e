// Reports to every shard once a second, on connections of its own and from a thread of its own,
// that this trainer lives and how far it is, and learns whom the shards wait for. A long batch, a
// test or a save does not stop it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "wire/connection.h"

namespace paddle {

// What the shards reported last. They answer every beat, and also report at once when a trainer
// finishes.
struct ShardNews {
  uint64_t epoch = 0;     // the newest that any of them is in
  std::string waiting;    // whom a shard waits for; "" for nobody
  std::string failure;    // why the job ended
  uint32_t finished = 0;  // least number of trainers that any shard knows to have finished
  bool saved = false;     // a shard knows that trainer 0 has saved and left
};

// Greets a shard with the outline only where the role is trainer.
void send_hello(wire::Connection& to, wire::Hello hello, uint32_t shard);

class Heartbeat {
 public:
  Heartbeat(const std::vector<wire::Endpoint>& shards, const wire::Hello& hello);
  ~Heartbeat();  // ends the thread
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  // From any thread.
  void report(const wire::Progress& progress);
  // Why this trainer is about to fail. Returns when the shards have acknowledged it, or after a
  // second.
  void send_final_error(const std::string& message);
  ShardNews news() const;
  // When a shard last answered; the beginning of this heartbeat where it has not yet.
  Time heard(size_t shard) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace paddle
