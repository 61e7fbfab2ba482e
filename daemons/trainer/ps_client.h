// The trainer's side of the pservers: gradients go out as they are made, parameters come in before
// they are needed. It puts the pieces together: connections and exchanges (step_exchange.h) and
// joining (joining.h), and is the one place that blocks.
//
// Recovery is one thing, whatever broke (a connection, a pserver, this process): greet all shards
// again, find the step at which all of them can go on (ps_join.h), and compute that step anew. A
// gradient that a shard has already is acknowledged there and not applied twice, so computing again
// is always safe, and in sync mode gives the same bits.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exec/table_stream.h"
#include "graph/kernel.h"
#include "graph/transpile.h"
#include "tensor/scope.h"
#include "trainer/exchange.h"
#include "trainer/job_end.h"
#include "trainer/join_driver.h"
#include "trainer/lost_report.h"
#include "trainer/ps_links.h"
#include "trainer/step_exchange.h"
#include "trainer/step_track.h"
#include "wire/credentials.h"
#include "wire/stream.h"

namespace paddle {

struct PsOptions {
  std::vector<wire::Endpoint> shards;
  wire::Credentials credentials;
  wire::Hello hello;
  double peer_timeout = 600;         // seconds without a pserver before the trainer gives up
  int64_t spin_microseconds = -1;    // wire/spin.h
  bool shared_memory = true;         // with pservers of this machine
  uint64_t queue_size = 20;          // async: steps merged before the trainer waits
  bool merge_mean = false;           // async: mean instead of sum
  uint64_t merge_memory = 8u << 20;  // async: bytes to merge gradients in
  uint64_t geo_steps = 0;
  uint64_t geo_memory = uint64_t{1} << 30;  // geo: bytes of rows of tables, at most
  bool rows_ahead = true;                   // those of the next batch are asked for early
  RowCacheOptions row_cache;                // of rows that were pulled
};

class PsClient final : public StepExchange {
 public:
  // `cut` and `scope` outlive the client. The scope holds the parameters; slices land in their
  // memory. `first_values` puts first values into the scope anew: it is called when the job has to
  // go back to its beginning.
  PsClient(const Cut& cut, Scope& scope, const PsOptions& options,
           std::function<void()> first_values);
  // Over connections of another kind; the options' endpoints are not used.
  PsClient(const Cut& cut, Scope& scope, const PsOptions& options,
           std::function<void()> first_values, std::unique_ptr<Links> links);

  // Waits for the pservers, configures them where they are empty, and joins the job. `first_step`
  // is the version of the values in the scope. Throws Error(peer) after peer_timeout, Error(config)
  // where the pservers refuse.
  Rewind join(uint64_t first_step);
  // Greets all shards anew, after a step was given up half way by something else than Rewind.
  Rewind rejoin();
  // Finds the memory of the parameters, where other tensors were put into the scope. Nothing may be
  // on its way (refresh()).
  void locate();
  // The id that the shards know this trainer by.
  uint32_t trainer() const { return driver_.hello().trainer; }
  uint32_t trainers() const { return options_.hello.trainers; }

  // Around each run of the trainer half. Any of these may throw Rewind.
  void begin_step(uint64_t step, const wire::Position& begin, const wire::Position& end);
  void end_step();

  // The parameters in the scope become those that `step` would compute with.
  void refresh(uint64_t step);
  // Parameters and optimizer state of all shards into the scope, as they are there now. Returns the
  // number of updates in them, the lowest where slices differ; none in geo, where every trainer
  // counts its own.
  std::optional<uint64_t> collect();
  // A table with is_distributed, as its file has it, from the shards.
  void save_table(const std::string& param, const TableWriter::Sink& sink);
  // For a trainer that was asked to stop: waits some seconds for the pservers to take what it has
  // pushed. Async merges gradients while others are on their way, so several steps may be missing.
  void deliver();
  // This trainer takes no further part in rounds; everything it pushed was applied.
  void finish(uint64_t step);
  // Waits until all trainers have finished.
  void wait_for_others();
  // Waits until trainer 0 has saved, for any other trainer: until then a pserver that fails may
  // send all back.
  void wait_for_save();
  // The last message: a shard that has it from all trainers is done.
  void say_bye();

  // They report progress, and why this trainer is about to fail.
  Heartbeats& heartbeats() { return links_->heartbeats(); }

 private:
  template <class Done>
  void wait(const Done& done);
  template <class Body>
  void guarded(const Body& body);
  [[noreturn]] void recover(const Disrupted& broken);
  void await(const Condition& done) override;
  void send_rows();
  void exchange_rows();
  void report_lost();

  const Cut& cut_;
  Scope& scope_;
  const PsOptions options_;
  JoinDriver driver_;
  JobEnd end_;
  StepTrack steps_;
  std::vector<const Variable*> params_;  // in the scope, since locate()
  std::string init_;                     // digest of the first values
  uint64_t first_step_ = 0;
  int recoveries_ = 0;  // since the last whole step
  LostReport logged_lost_, logged_rows_;
};

}  // namespace paddle
