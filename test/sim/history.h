// One simulated job with its faults, all from one seed, and what must hold afterwards.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pserver/members.h"
#include "trainer/ps_client.h"

namespace paddle::sim {

enum class FaultKind {
  cut,             // connections of a trainer and a shard break
  silence,         // nothing travels between the two, one way or both, for a while
  freeze_trainer,  // SIGSTOP, SIGCONT
  freeze_pserver,
  kill_trainer,    // kill -9, and started again
  kill_pserver,    // the same; its disk stays
  stop_pserver,    // SIGTERM, and started again
  lose_pserver,    // kill -9; it comes back with an empty disk
  lose_snapshot,   // kill -9; its newest snapshot is gone
  tear_snapshot,   // kill -9; its newest snapshot is damaged, or a copy of the one before
  rot_snapshot,    // the same happens to the disk of a pserver that lives
  vanish_trainer,  // its machine is gone, and nobody hears of it; it is started on another one
};
constexpr size_t fault_kinds = 12;
const char* name_of(FaultKind kind);

struct Fault {
  double at = 0;  // seconds
  FaultKind kind = FaultKind::cut;
  size_t trainer = 0, shard = 0;
  double lasts = 0;       // seconds: of a silence, a freeze, or until it is started again
  int ways = 3;           // silence: 1 to the shard, 2 to the trainer, 3 both; a damage: 1 is torn
  bool for_good = false;  // what was killed is never started again
};

struct JobPlan {
  uint64_t seed = 0;
  wire::Mode mode = wire::Mode::sync;
  LossPolicy policy = LossPolicy::wait;
  size_t trainers = 2, shards = 1, params = 2;
  uint64_t records = 10, snapshot_period = 0;  // 0: no disk
  uint64_t queue_size = 20, geo_steps = 2;
  uint64_t merge_memory = 8u << 20;
  double batch_seconds = 0.01, slow = 0.002, latest_end = 0.01;
  double drift = 0;             // of clocks, at most, as a share
  double slowest_write = 0.05;  // of a disk, seconds
  bool slow_trainer = false;    // the last one takes ten times as long
  bool far_pair = false;        // between the first trainer and shard all takes longer
  bool table = false;           // beside the parameters there is a sparse table
  bool ahead = false;           // trainers announce the rows of their next batch
  uint64_t cache_steps = 0;     // async, half-async: trainers keep rows for so many steps
  uint32_t changes = 0;         // snapshots in a row that hold what changed in it
  double changes_share = 0.5;   // of a whole one
  uint64_t pass_records = 0;    // batches of a pass, after which a model is saved; 0: one pass
  std::vector<Fault> faults;
};
// Only faults of these kinds; all where it is empty.
JobPlan plan_of(uint64_t seed, const std::vector<FaultKind>& kinds = {});
std::string text_of(const JobPlan& plan);

struct Outcome {
  std::string problem;  // "" where everything that must hold holds
  uint64_t events = 0;
  double seconds = 0;  // of simulated time
};
Outcome run(const JobPlan& plan, bool traces);

// Fewer faults with which the problem is still there.
JobPlan shortened(const JobPlan& plan);

}  // namespace paddle::sim
