// The trainer's side of the pservers: gradients go out as they are made, parameters come in before
// they are needed. It runs on the thread that computes: nothing hops between threads on the way of
// the data; only the heartbeat has a thread of its own.
//
// Recovery is one thing, whatever broke (a connection, a pserver, this process): greet all shards
// again, find the step at which all of them can go on (ps_join.h), and compute that step anew. A
// gradient that a shard has already is acknowledged there and not applied twice, so computing again
// is always safe, and in sync mode gives the same bits.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "exec/scope.h"
#include "graph/kernel.h"
#include "graph/transpile.h"
#include "trainer/ps_link.h"
#include "wire/spin.h"

namespace paddle {

struct PsOptions {
  std::vector<wire::Endpoint> shards;
  wire::Hello hello;
  double peer_timeout = 600;       // seconds without a pserver before the trainer gives up
  int64_t spin_microseconds = -1;  // wire/spin.h
  uint64_t queue_size = 20;        // async: steps merged before the trainer waits
  bool merge_mean = false;         // async: mean instead of sum
  uint64_t geo_steps = 0;
};

// Thrown out of a step: go on with `step`, whose data begins at `place` (none: at the beginning).
struct Rewind {
  uint64_t step = 0;
  std::optional<wire::Position> place;
  std::string why;
};

// Thrown out of any wait, where a signal asks this process to stop.
struct Stopped {};

class PsClient : public Remote, private LinkOwner {
 public:
  // `cut` and `scope` outlive the client. The scope holds the parameters; slices land in their
  // memory. `first_values` puts first values into the scope anew: it is called when the job has to
  // go back to its beginning.
  PsClient(const Cut& cut, Scope& scope, const PsOptions& options,
           std::function<void()> first_values);
  ~PsClient() override;

  // Waits for the pservers, configures them where they are empty, and joins the job. `first_step`
  // is the version of the values in the scope. Throws Error(peer) after peer_timeout, Error(config)
  // where the pservers refuse.
  Rewind join(uint64_t first_step);
  // Greets all shards anew, after a step was given up half way by something else than Rewind.
  Rewind rejoin() { return join_once(first_step_); }
  // Finds the memory of the parameters, where somebody has put other tensors into the scope.
  // Nothing may be on its way (refresh()).
  void locate();
  // The id that the shards know this trainer by.
  uint32_t trainer() const { return options_.hello.trainer; }
  uint32_t trainers() const { return options_.hello.trainers; }

  // Around each run of the trainer half. Any of these may throw Rewind.
  void begin_step(uint64_t step, const wire::Position& begin, const wire::Position& end);
  void push(int32_t param, const View& grad, uint64_t step) override;
  void pull(int32_t param, const View& value, uint64_t step) override;
  void end_step();

  // The parameters in the scope become those that `step` would compute with.
  void refresh(uint64_t step);
  // Parameters and optimizer state of all shards into the scope, as they are there now. Returns the
  // number of updates in them, the lowest where slices differ; none in geo, where every trainer
  // counts its own.
  std::optional<uint64_t> collect();
  // This trainer takes no further part in rounds; everything it pushed was applied.
  void finish(uint64_t step);
  // Waits until all trainers have finished.
  void wait_for_others();
  // Waits until trainer 0 has saved, for any other trainer: until then a pserver that fails may
  // send all back.
  void wait_for_save();
  // The last word: a shard that heard it from all trainers is done.
  void say_bye();

  void tell(const wire::Progress& progress) { heartbeat_->tell(progress); }
  // This trainer is about to fail: whoever waits for it shall know why.
  void tell_last_words(const std::string& words) {
    if (heartbeat_) heartbeat_->tell_last_words(words);
  }
  uint64_t dropped() const { return dropped_; }  // async: gradients that were too old

 private:
  struct SliceLine {
    const SliceSpec* spec = nullptr;
    uint32_t id = 0;
    std::byte* value = nullptr;  // in the parameter's memory
    uint64_t version = 0;        // of what is there
    bool awaited = false;        // an answer is on its way
    // async and geo: what is sent, what waits to be sent, what comes in
    std::vector<float> sending, waiting, incoming, old;
    uint64_t merged = 0, last_step = 0, based_on = 0;
    bool unanswered = false;  // whether `sending` was applied is not known yet
    uint64_t sent_step = 0;   // of `sending`
  };
  // Thrown where a connection or an epoch broke; caught by recover().
  struct Disrupted {
    std::string why;
  };

  std::span<std::byte> values_land(uint32_t slice, uint64_t bytes) override;
  void values_came(uint32_t slice, uint64_t version, bool dropped) override;

  bool staged() const;  // values come into a buffer first: async and geo
  void check_links();
  template <class Done>
  void wait(const std::function<std::string()>& what, const Done& done);
  void await_acks(const std::vector<uint64_t>& ids, const std::string& what);
  template <class Send>
  void request(const std::vector<size_t>& shards, const std::string& what, const Send& send);
  [[noreturn]] void recover(const Disrupted& broken);
  template <class Body>
  void guarded(const Body& body);

  void take_id();
  void ask_for_another_id(const ShardFailure& refusal);
  void wait_for_greetings(size_t count);
  bool holds_slices(size_t shard) const;
  Rewind join_once(uint64_t first_step);
  void enter(const JoinDecision& decision);
  bool is_missing(SliceLine& line) const;
  void pull_line(SliceLine& line, uint64_t version);
  void collect_geo();
  uint64_t fetch(size_t shard, const std::string& name, const Tensor& to);
  void configure(const JoinDecision& decision);
  void roll_back(const JoinDecision& decision);
  std::string pending_text() const;
  ShardNews present_news() const;

  void send_push(SliceLine& line, uint64_t step, wire::Bytes bulk, wire::Bulk lifetime);
  void move_bytes();
  void push_async(SliceLine& line, const float* grad, uint64_t step);
  void send_waiting(SliceLine& line);
  void exchange_geo();
  std::string initial_digest();

  const Cut& cut_;
  Scope& scope_;
  PsOptions options_;
  std::function<void()> first_values_;
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  wire::Spin spin_;
  std::vector<std::unique_ptr<ShardLink>> links_;
  std::vector<SliceLine> lines_;
  std::vector<std::vector<size_t>> param_lines_;  // lines of each parameter
  std::unique_ptr<Heartbeat> heartbeat_;
  uint64_t epoch_ = 0, first_step_ = 0, step_ = 0, margin_ = 0, dropped_ = 0;
  bool lost_id_ = false, joined_once_ = false, finished_ = false;
  bool was_given_id_ = false;  // by the first shard, not by the user
  int other_ids_ = 0;          // asked for, as somebody else got the one that was given
  int recoveries_ = 0;         // since the last whole step
  wire::Position begin_, end_;
  uint64_t next_step_ = 0;  // what comes after all that was computed, and where its data begins
  std::optional<wire::Position> next_place_;
  std::string init_;
};

}  // namespace paddle
