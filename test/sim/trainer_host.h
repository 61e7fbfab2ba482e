// A simulated trainer process: the real client (ps_client.h) and everything below it, on a fiber,
// over simulated connections, with a cheap function in place of forward and backward.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/fiber.h"
#include "sim/network.h"
#include "sim/pserver_host.h"
#include "trainer/ps_client.h"

namespace paddle::sim {

// Thrown out of whatever a process does when it is killed.
struct Killed {};

// Values of a row: one for each trainer that a job has at most.
constexpr int64_t row_width = 4;
// The ids of a batch: the row in which all count, one that depends on the trainer, and others now
// and then, so that in some steps a shard gets none.
std::vector<uint64_t> batch_ids(size_t trainer, uint64_t record);

// Parameters, and rows of a table behind them.
using Values = std::vector<std::vector<float>>;

// What is trained.
struct Model {
  Cut cut;
  Scope first;  // first values of all variables
};

struct TrainerSetup {
  const Model* model = nullptr;
  PsOptions options;
  uint64_t records = 10;      // batches of this trainer
  uint64_t pass_records = 0;  // of a pass; 0: there is one
  double batch_seconds = 0.01;
  LocalClock clock;
};

class SimLinks;

class TrainerHost {
 public:
  TrainerHost(Network& network, std::vector<PserverHost*> pservers, size_t index,
              TrainerSetup setup);
  ~TrainerHost();

  void start();
  void kill();
  // Its machine is gone: nobody hears of its end.
  void vanish();
  void freeze(double seconds);
  bool alive() const { return fiber_ != nullptr; }
  size_t index() const { return index_; }

  // ---- of the last process
  bool finished() const { return finished_; }
  const std::string& failure() const { return failure_; }  // why it gave up
  // ---- of all of them
  // Updates that were reported as lost, at most, by slice, and of the row that all count in.
  const std::vector<uint64_t>& lost() const { return lost_; }
  bool place_lost() const { return place_lost_; }
  // Trainer 0: the parameters that it saved, and rows of the table behind them.
  const Values& saved() const { return saved_; }
  // … and those of each pass before the last one.
  const std::map<uint64_t, Values>& saved_passes() const { return saved_passes_; }
  std::string waiting() const;

 private:
  friend class SimLinks;
  void run();
  void train(PsClient& client, Scope& scope);
  void batch(PsClient& client, Scope& scope, uint64_t step, uint64_t record);
  Values parameters(const Scope& scope) const;
  void save_pass(PsClient& client, const Scope& scope, uint64_t step, uint64_t pass);
  void announce(PsClient& client, uint64_t step, uint64_t record);
  void push_rows(PsClient& client, const std::vector<float>& rows, uint64_t step, uint64_t record);
  Time now() const { return setup_.clock.local(network_.world.now()); }
  // The fiber sleeps until then, by its own clock, or until wake().
  void sleep_until(Time until);
  void wake();
  void resume();

  Network& network_;
  const std::vector<PserverHost*> pservers_;
  const size_t index_;
  const TrainerSetup setup_;
  std::unique_ptr<Fiber> fiber_;
  std::vector<std::vector<float>> gradients_;
  SimLinks* links_ = nullptr;  // while it runs
  bool killed_ = false, vanished_ = false, asleep_ = false, finished_ = false;
  uint64_t life_ = 0, sleep_ = 0;
  Time frozen_until_{};
  std::string failure_;
  std::vector<uint64_t> lost_;
  bool place_lost_ = false;
  Values saved_;
  std::map<uint64_t, Values> saved_passes_;
};

}  // namespace paddle::sim
