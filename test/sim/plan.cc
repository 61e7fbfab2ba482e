// Which job and which faults a seed stands for.
#include <iterator>

#include "sim/history.h"
#include "sim/world.h"

namespace paddle::sim {
namespace {

constexpr const char* fault_names[] = {
    "cut",           "silence",       "freeze_trainer", "freeze_pserver",
    "kill_trainer",  "kill_pserver",  "stop_pserver",   "lose_pserver",
    "lose_snapshot", "tear_snapshot", "rot_snapshot",   "vanish_trainer"};
static_assert(std::size(fault_names) == fault_kinds);

const char* name_of(LossPolicy policy) {
  return policy == LossPolicy::wait ? "wait" : policy == LossPolicy::drop ? "drop" : "fail";
}

bool ends_process(FaultKind kind) {
  return kind == FaultKind::kill_trainer || kind == FaultKind::kill_pserver ||
         kind == FaultKind::stop_pserver || kind == FaultKind::vanish_trainer;
}

wire::Mode mode_of(Random& r) {
  const uint64_t n = r.below(10);
  return n < 5   ? wire::Mode::sync
         : n < 7 ? wire::Mode::half_async
         : n < 9 ? wire::Mode::async
                 : wire::Mode::geo;
}

// Some come at the same moment.
void add_faults(JobPlan& p, Random& r, const std::vector<FaultKind>& kinds) {
  const double length = static_cast<double>(p.records) * (p.batch_seconds + 3 * p.slow) + 0.1;
  const uint64_t faults = r.chance(0.1) ? 5 + r.below(4) : r.below(5);
  const bool at_once = r.chance(0.15), for_good = r.chance(0.04);
  for (uint64_t i = 0; i < faults; ++i) {
    Fault f;
    f.at = r.between(0, r.chance(0.8) ? length : 3 * length);
    if (at_once && i > 0) f.at = p.faults[0].at + r.between(0, 0.01);
    f.kind =
        kinds.empty() ? static_cast<FaultKind>(r.below(fault_kinds)) : kinds[r.below(kinds.size())];
    f.trainer = r.below(p.trainers);
    f.shard = r.below(p.shards);
    f.lasts = r.chance(0.6) ? r.between(0.001, 0.5) : r.between(0.5, 25);
    f.ways = 1 + static_cast<int>(r.below(3));
    f.for_good = for_good && i == 0 && ends_process(f.kind);
    p.faults.push_back(f);
  }
}

}  // namespace

const char* name_of(FaultKind kind) { return fault_names[static_cast<size_t>(kind)]; }

JobPlan plan_of(uint64_t seed, const std::vector<FaultKind>& kinds) {
  Random r(mix64(seed));
  JobPlan p{.seed = seed};
  p.mode = mode_of(r);
  const uint64_t policy = r.below(10);
  p.policy = policy < 7 ? LossPolicy::wait : policy < 9 ? LossPolicy::drop : LossPolicy::fail;
  constexpr size_t trainers[] = {1, 2, 2, 4};
  p.trainers = trainers[r.below(4)];
  p.shards = 1 + r.below(3);
  p.params = 1 + r.below(4);
  p.records = 4 + r.below(12);
  p.snapshot_period = r.chance(0.6) ? 1 + r.below(6) : 0;
  p.queue_size = 1 + r.below(5);
  p.geo_steps = 1 + r.below(3);
  p.batch_seconds = r.chance(0.2) ? 0.3 : 0.01;
  p.slow = r.chance(0.3) ? 0.05 : 0.002;
  p.latest_end = r.chance(0.3) ? 5 : 0.01;
  p.drift = r.chance(0.3) ? 0.05 : 0;
  p.slowest_write = r.chance(0.1) ? 3 : 0.05;
  p.slow_trainer = r.chance(0.1);
  p.far_pair = r.chance(0.1);
  add_faults(p, r, kinds);
  p.table = mix64(seed ^ 0x7ab1e) % 3 == 0;
  constexpr uint64_t memories[] = {0, 64, 8u << 20};  // no group, a few, or all may merge
  p.merge_memory = memories[mix64(seed ^ 0x3e36e) % 3];
  p.ahead = mix64(seed ^ 0xa4ead) % 4 != 0;
  const bool caches = p.mode == wire::Mode::async || p.mode == wire::Mode::half_async;
  if (caches && p.table) p.cache_steps = mix64(seed ^ 0xcac4e) % 4;
  p.changes = static_cast<uint32_t>(mix64(seed ^ 0xde17a) % 5);
  p.changes_share = mix64(seed ^ 0x54a7e) % 4 == 0 ? 0.5 : 1e9;  // rows are few, and all change
  if (mix64(seed ^ 0x9a57) % 3 == 0) p.pass_records = 2 + mix64(seed ^ 0x9a58) % 4;
  return p;
}

std::string text_of(const JobPlan& p) {
  std::string out = text(
      "seed ", p.seed, ": ", wire::name_of(p.mode), ", on loss ", name_of(p.policy), ", ",
      p.trainers, " trainers, ", p.shards, " shards, ", p.params, " parameters, ", p.records,
      " batches, snapshots every ", p.snapshot_period, " steps, a batch takes ", p.batch_seconds,
      " s, messages up to ", p.slow, " s, ends are heard within ", p.latest_end, " s");
  if (p.drift > 0) out += text(", clocks drift by up to ", p.drift * 100, " %");
  if (p.slowest_write > 1) out += text(", a snapshot takes up to ", p.slowest_write, " s");
  if (p.slow_trainer) out += ", the last trainer is slow";
  if (p.mode == wire::Mode::async && p.merge_memory < 100)
    out += text(", gradients wait in ", p.merge_memory, " bytes");
  if (p.table) out += p.ahead ? ", with a sparse table and rows ahead" : ", with a sparse table";
  if (p.cache_steps > 0) out += text(", which trainers keep for ", p.cache_steps, " steps");
  if (p.table && p.changes > 0)
    out += text(" and up to ", p.changes, " snapshots of its changes in a row");
  if (p.pass_records > 0) out += text(", a model is saved every ", p.pass_records, " batches");
  if (p.far_pair) out += ", trainer 0 and pserver 0 are far from each other";
  out += "\n";
  for (const Fault& f : p.faults) {
    out += text("  at ", f.at, " s: ", name_of(f.kind), ", trainer ", f.trainer, ", pserver ",
                f.shard);
    out += f.for_good ? text(", for good\n") : text(", for ", f.lasts, " s, ways ", f.ways, "\n");
  }
  return out;
}

}  // namespace paddle::sim
