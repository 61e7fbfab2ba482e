// Tells every shard once a second, on connections of its own and from a thread of its own, that
// this trainer lives and how far it is; and hears whom the shards wait for. A long batch, a test or
// a save does not stop it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "wire/connection.h"

namespace paddle {

// What a trainer tells of itself.
struct TrainerProgress {
  uint64_t step = 0, pass = 0, passes = 0, batch = 0, batches = 0, samples = 0;
  double rate = 0, cost = 0;
  std::string state = "starting";
  std::string error;  // last words
};

// What the shards said last. They answer every beat, and also say at once when a trainer finishes.
struct ShardNews {
  uint64_t epoch = 0;     // the newest that any of them is in
  std::string waiting;    // whom a shard waits for; "" for nobody
  std::string failure;    // why the job ended
  uint32_t finished = 0;  // least number of trainers that any shard knows to have finished
  bool saved = false;     // a shard knows that trainer 0 has saved and left
};

// The greeting of a connection; filled in by the client.
struct HelloFields {
  std::string job, program, process, build;
  msg::Mode mode = msg::Mode::sync;
  uint32_t trainer = 0, trainers = 1, shards = 1;
  uint64_t incarnation = 0;
  bool takes_id = false;
  std::string outline;  // text of the program; long ones are cut off
};
void send_hello(wire::Connection& to, const HelloFields& hello, msg::Role role, uint32_t shard);

class Heartbeat {
 public:
  Heartbeat(const std::vector<wire::Endpoint>& shards, const HelloFields& hello);
  ~Heartbeat();  // ends the thread
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  // From any thread.
  void tell(const TrainerProgress& progress);
  // Why this trainer is about to fail. Returns when the shards have heard it, or after a second.
  void tell_last_words(const std::string& words);
  ShardNews news() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace paddle
