// Reports to every shard once a second, on connections of its own and from a thread of its own,
// that this trainer lives and how far it is, and learns whom the shards wait for. A long batch, a
// test or a save does not stop it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "trainer/shard_news.h"
#include "wire/connection.h"
#include "wire/credentials.h"

namespace paddle {

// Greets a shard with the outline only where the role is trainer.
void send_hello(wire::Connection& to, wire::Hello hello, uint32_t shard);

class Heartbeat {
 public:
  // The credentials outlive it.
  Heartbeat(const std::vector<wire::Endpoint>& shards, const wire::Credentials& credentials,
            const wire::Hello& hello);
  ~Heartbeat();  // ends the thread
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  // From any thread.
  void report(const wire::Progress& progress);
  // Why this trainer is about to fail. Returns when the shards have acknowledged it, or after a
  // second.
  void send_final_error(const std::string& message);
  std::vector<ShardNews> news() const;  // by shard
  // When a shard last answered; the beginning of this heartbeat where it has not yet.
  Time heard(size_t shard) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace paddle
