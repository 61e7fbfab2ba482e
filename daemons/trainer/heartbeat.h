// Reports to every shard once a second, on connections of its own and from a thread of its own,
// that this trainer lives and how far it is, and learns whom the shards wait for. A long batch, a
// test or a save does not stop it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "trainer/ps_links.h"
#include "wire/connection.h"
#include "wire/credentials.h"

namespace paddle {

// Greets a shard with the outline only where the role is trainer.
void send_hello(wire::Connection& to, wire::Hello hello, uint32_t shard);

class Heartbeat final : public Heartbeats {
 public:
  // The credentials outlive it.
  Heartbeat(const std::vector<wire::Endpoint>& shards, const wire::Credentials& credentials);
  ~Heartbeat() override;  // stops
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  void start(const wire::Hello& hello) override;
  void stop() override;  // ends the thread
  void report(const wire::Progress& progress) override;
  void send_final_error(const std::string& message) override;
  std::vector<ShardNews> news_of_each() const override;
  // When a shard last answered, or when this began; none where it does not run.
  Time heard(size_t shard) const;

 private:
  struct State;
  const std::vector<wire::Endpoint> shards_;
  const wire::Credentials& credentials_;
  std::unique_ptr<State> state_;
};

}  // namespace paddle
