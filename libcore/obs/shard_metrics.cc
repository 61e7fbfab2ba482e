#include "base/error.h"
#include "obs/metrics.h"

namespace paddle {
namespace {

using Shards = std::vector<ShardStatus>;

Labels labels_of(const ShardStatus& s) { return {{"shard", s.endpoint}}; }

template <class Of>
void each_shard(const Shards& shards, Samples& out, const Of& of) {
  for (const ShardStatus& s : shards)
    if (s.answered()) out.put(labels_of(s), of(s));
}

template <class Of>
void each_trainer(const Shards& shards, Samples& out, const Of& of) {
  for (const ShardStatus& s : shards)
    for (const wire::MemberStatus& m : s.members)
      out.put({{"shard", s.endpoint}, {"trainer", std::to_string(m.trainer)}}, of(m));
}

template <class Of>
void each_table(const Shards& shards, Samples& out, const Of& of) {
  for (const ShardStatus& s : shards)
    for (const wire::TableStatus& t : s.tables)
      out.put({{"shard", s.endpoint}, {"table", t.name}}, of(t));
}

uint64_t yes(bool condition) { return condition ? 1 : 0; }

// Rounds that have begun and lack the gradient of a trainer.
uint64_t open_rounds(const ShardStatus& s) {
  uint64_t sum = 0;
  for (const wire::SliceStatus& slice : s.slices) sum += yes(!slice.waiting.empty());
  for (const wire::TableStatus& table : s.tables) sum += yes(!table.waiting.empty());
  return sum;
}

uint64_t slice_bytes(const ShardStatus& s) {
  uint64_t sum = 0;
  for (const wire::SliceStatus& slice : s.slices) sum += slice.bytes;
  return sum;
}

void put_staleness(const Shards& shards, Samples& out) {
  for (const ShardStatus& s : shards)
    for (const wire::MemberStatus& m : s.members) {
      if (m.staleness.empty()) continue;
      uint64_t count = 0;
      for (const uint64_t n : m.staleness) count += n;
      out.put_counts({{"shard", s.endpoint}, {"trainer", std::to_string(m.trainer)}}, m.staleness,
                     m.staleness_mean * static_cast<double>(count));
    }
}

// Of the shard that adds the trainers' counts up.
void put_totals(const Shards& shards, Samples& out, bool period, bool evaluators) {
  for (const ShardStatus& s : shards) {
    const wire::Sums* sums = s.totals.trainers == 0 ? nullptr
                             : !period              ? &s.totals.whole
                             : s.totals.period      ? &*s.totals.period
                                                    : nullptr;
    if (sums == nullptr || sums->samples == 0) continue;
    if (!evaluators) out.put({}, sums->cost);
    for (const wire::Number& n : sums->evaluators)
      if (evaluators) out.put({{"evaluator", n.name}}, n.value);
  }
}

using Row = Metric<Shards>;
using In = const Shards&;
using Out = Samples&;
using S = ShardStatus;
using M = wire::MemberStatus;
using T = wire::TableStatus;
constexpr auto gauge = MetricType::gauge, counter = MetricType::counter;

constexpr Row rows[] = {
    {"paddle_pserver_job_info", gauge, "shard, job_name, mode, state", "1 for the present job",
     [](In r, Out out) {
       for (const S& s : r)
         if (s.answered())
           out.put({{"shard", s.endpoint},
                    {"job_name", s.job},
                    {"mode", name_of(s.mode)},
                    {"state", name_of(s.state)}},
                   1.0);
     }},
    {"paddle_pserver_ready", gauge, "shard", "1 while the shard has its values and takes gradients",
     [](In r, Out out) {
       each_shard(r, out, [](const S& s) { return yes(s.state == wire::ShardState::ready); });
     }},
    {"paddle_pserver_waiting", gauge, "shard", "1 while the shard waits for a trainer",
     [](In r, Out out) { each_shard(r, out, [](const S& s) { return yes(!s.waiting.empty()); }); }},
    {"paddle_pserver_uptime_seconds", gauge, "shard", "Time since the shard was started",
     [](In r, Out out) { each_shard(r, out, [](const S& s) { return s.uptime; }); }},
    {"paddle_pserver_step", gauge, "shard",
     "Steps that are in every slice; goes back with a rollback",
     [](In r, Out out) { each_shard(r, out, [](const S& s) { return s.step; }); }},
    {"paddle_pserver_rollbacks_total", counter, "shard",
     "Rollbacks of the job to a snapshot (its epoch)",
     [](In r, Out out) { each_shard(r, out, [](const S& s) { return s.epoch; }); }},
    {"paddle_pserver_open_rounds", gauge, "shard",
     "Sync: rounds of slices and tables that have begun and lack the gradient of a trainer",
     [](In r, Out out) { each_shard(r, out, open_rounds); }},
    {"paddle_pserver_waiting_requests", gauge, "shard",
     "Pulls and pushes whose answer waits for a version",
     [](In r, Out out) { each_shard(r, out, [](const S& s) { return s.waiting_requests; }); }},
    {"paddle_pserver_queued_bytes", gauge, "shard",
     "Bytes of answers that the kernel has not taken yet",
     [](In r, Out out) { each_shard(r, out, [](const S& s) { return s.queued_bytes; }); }},
    {"paddle_pserver_received_bytes_total", counter, "shard", "Bytes that came in",
     [](In r, Out out) { each_shard(r, out, [](const S& s) { return s.bytes_in; }); }},
    {"paddle_pserver_sent_bytes_total", counter, "shard", "Bytes that went out",
     [](In r, Out out) { each_shard(r, out, [](const S& s) { return s.bytes_out; }); }},
    {"paddle_pserver_received_messages_total", counter, "shard", "Messages that came in",
     [](In r, Out out) { each_shard(r, out, [](const S& s) { return s.messages_in; }); }},
    {"paddle_pserver_sent_messages_total", counter, "shard", "Messages that went out",
     [](In r, Out out) { each_shard(r, out, [](const S& s) { return s.messages_out; }); }},
    {"paddle_pserver_cpu_seconds_total", counter, "shard", "CPU time of the shard's thread",
     [](In r, Out out) { each_shard(r, out, [](const S& s) { return s.cpu_seconds; }); }},
    {"paddle_pserver_slices", gauge, "shard", "Slices of parameters on the shard",
     [](In r, Out out) {
       each_shard(r, out, [](const S& s) { return uint64_t{s.slices.size()}; });
     }},
    {"paddle_pserver_slice_bytes", gauge, "shard", "Bytes of their values",
     [](In r, Out out) { each_shard(r, out, slice_bytes); }},
    {"paddle_pserver_memory_bytes", gauge, "shard", "Bytes that the shard holds for its job",
     [](In r, Out out) { each_shard(r, out, [](const S& s) { return s.memory; }); }},
    {"paddle_pserver_memory_held_bytes", gauge, "",
     "Bytes that all shards of the process hold, for jobs and messages",
     [](In r, Out out) {
       if (!r.empty()) out.put({}, r.front().memory_held);
     }},
    {"paddle_pserver_memory_limit_bytes", gauge, "", "Most that they may hold (--memory_limit)",
     [](In r, Out out) {
       if (!r.empty()) out.put({}, r.front().memory_limit);
     }},
    {"paddle_pserver_snapshots", gauge, "shard", "Snapshots that the job can go back to",
     [](In r, Out out) {
       each_shard(r, out, [](const S& s) { return uint64_t{s.snapshots.size()}; });
     }},
    {"paddle_pserver_snapshot_step", gauge, "shard", "Step of the newest snapshot",
     [](In r, Out out) {
       for (const S& s : r)
         if (!s.snapshots.empty()) out.put(labels_of(s), s.snapshots.back());
     }},
    {"paddle_pserver_snapshot_age_seconds", gauge, "shard",
     "Time since this process wrote its last snapshot; missing where it has written none",
     [](In r, Out out) {
       for (const S& s : r)
         if (s.snapshot_age >= 0) out.put(labels_of(s), s.snapshot_age);
     }},
    {"paddle_pserver_snapshots_written_total", counter, "shard",
     "Snapshots that this process has written",
     [](In r, Out out) { each_shard(r, out, [](const S& s) { return s.snapshots_written; }); }},
    {"paddle_pserver_snapshots_failed_total", counter, "shard", "Snapshots that it could not write",
     [](In r, Out out) { each_shard(r, out, [](const S& s) { return s.snapshots_failed; }); }},
    {"paddle_pserver_snapshot_seconds_total", counter, "shard",
     "Time that writing them took, beside the training",
     [](In r, Out out) { each_shard(r, out, [](const S& s) { return s.snapshot_seconds; }); }},
    {"paddle_pserver_snapshot_last_seconds", gauge, "shard",
     "Time that writing the last one took; missing where there is none",
     [](In r, Out out) {
       for (const S& s : r)
         if (s.snapshots_written + s.snapshots_failed > 0) out.put(labels_of(s), s.snapshot_last);
     }},
    {"paddle_pserver_trainer_joined", gauge, "shard, trainer", "1 while the trainer takes part",
     [](In r, Out out) {
       each_trainer(r, out, [](const M& m) { return yes(m.state == "joined"); });
     }},
    {"paddle_pserver_trainer_lost", gauge, "shard, trainer",
     "1 while the trainer is lost: its lease has ended, and it has not joined again",
     [](In r, Out out) {
       each_trainer(r, out, [](const M& m) { return yes(m.state == "lost"); });
     }},
    {"paddle_pserver_trainer_step", gauge, "shard, trainer", "Step of its last gradient",
     [](In r, Out out) { each_trainer(r, out, [](const M& m) { return m.step; }); }},
    {"paddle_pserver_trainer_joins_total", counter, "shard, trainer",
     "Times that it joined: all but the first are restarts of it, or rollbacks",
     [](In r, Out out) { each_trainer(r, out, [](const M& m) { return m.joins; }); }},
    {"paddle_pserver_trainer_lacking_rounds", gauge, "shard, trainer",
     "Sync: open rounds that lack its gradient, so that the others wait for it",
     [](In r, Out out) { each_trainer(r, out, [](const M& m) { return m.lacking; }); }},
    {"paddle_pserver_gradients_applied_total", counter, "shard, trainer",
     "Gradients of slices and tables that were used",
     [](In r, Out out) { each_trainer(r, out, [](const M& m) { return m.applied; }); }},
    {"paddle_pserver_gradients_dropped_total", counter, "shard, trainer",
     "Async: gradients that were too old",
     [](In r, Out out) { each_trainer(r, out, [](const M& m) { return m.dropped; }); }},
    {"paddle_pserver_gradients_refused_total", counter, "shard, trainer",
     "Gradients with NaN or Inf",
     [](In r, Out out) { each_trainer(r, out, [](const M& m) { return m.not_finite; }); }},
    {"paddle_pserver_staleness", MetricType::histogram, "shard, trainer, le",
     "Async: versions that gradients lagged", put_staleness},
    {"paddle_pserver_staleness_max", gauge, "shard, trainer",
     "Async: versions that the oldest gradient lagged",
     [](In r, Out out) { each_trainer(r, out, [](const M& m) { return m.staleness_max; }); }},
    {"paddle_pserver_staleness_mean", gauge, "shard, trainer",
     "Async: versions that gradients lagged, as a mean",
     [](In r, Out out) { each_trainer(r, out, [](const M& m) { return m.staleness_mean; }); }},
    {"paddle_pserver_trainer_received_bytes_total", counter, "shard, trainer",
     "Bytes that came from the trainer since it joined",
     [](In r, Out out) { each_trainer(r, out, [](const M& m) { return m.bytes_in; }); }},
    {"paddle_pserver_trainer_sent_bytes_total", counter, "shard, trainer",
     "Bytes that went to the trainer since it joined",
     [](In r, Out out) { each_trainer(r, out, [](const M& m) { return m.bytes_out; }); }},
    {"paddle_job_samples", gauge, "",
     "Samples of the pass so far, of all trainers, at the end of the last log period; on the first "
     "shard of a job",
     [](In r, Out out) {
       for (const S& s : r)
         if (s.totals.trainers > 0) out.put({}, s.totals.whole.samples);
     }},
    {"paddle_job_cost", gauge, "", "Cost over these samples",
     [](In r, Out out) { put_totals(r, out, false, false); }},
    {"paddle_job_evaluator", gauge, "evaluator",
     "Evaluators over these samples, from the added counts of all trainers",
     [](In r, Out out) { put_totals(r, out, false, true); }},
    {"paddle_job_period_cost", gauge, "", "Cost over the samples of the last log period alone",
     [](In r, Out out) { put_totals(r, out, true, false); }},
    {"paddle_job_period_evaluator", gauge, "evaluator",
     "Evaluators over the samples of the last log period alone",
     [](In r, Out out) { put_totals(r, out, true, true); }},
    {"paddle_pserver_table_rows", gauge, "shard, table", "Rows of a table on the shard",
     [](In r, Out out) { each_table(r, out, [](const T& t) { return t.rows; }); }},
    {"paddle_pserver_table_bytes", gauge, "shard, table", "Bytes of these rows",
     [](In r, Out out) { each_table(r, out, [](const T& t) { return t.bytes; }); }},
    {"paddle_pserver_table_rows_created_total", counter, "shard, table", "Rows that were admitted",
     [](In r, Out out) { each_table(r, out, [](const T& t) { return t.created; }); }},
    {"paddle_pserver_table_rows_pulled_total", counter, "shard, table",
     "Rows that trainers asked for",
     [](In r, Out out) { each_table(r, out, [](const T& t) { return t.pulled; }); }},
    {"paddle_pserver_table_rows_missed_total", counter, "shard, table",
     "Rows among them that the table did not have; 1 - missed / pulled is its hit rate",
     [](In r, Out out) { each_table(r, out, [](const T& t) { return t.missed; }); }},
    {"paddle_pserver_table_updates_not_admitted_total", counter, "shard, table",
     "Updates of ids that are not admitted yet",
     [](In r, Out out) { each_table(r, out, [](const T& t) { return t.not_admitted; }); }},
    {"paddle_pserver_table_rows_expired_total", counter, "shard, table", "Rows that have expired",
     [](In r, Out out) { each_table(r, out, [](const T& t) { return t.expired; }); }},
    {"paddle_pserver_table_rows_evicted_total", counter, "shard, table",
     "Rows that had to make room for others",
     [](In r, Out out) { each_table(r, out, [](const T& t) { return t.evicted; }); }},
};

}  // namespace

std::span<const Metric<std::vector<ShardStatus>>> shard_rows() { return rows; }

}  // namespace paddle
