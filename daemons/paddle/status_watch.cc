#include "paddle/status_watch.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include "base/error.h"
#include "obs/events.h"
#include "obs/json.h"

namespace paddle {

void StatusWatch::observed(const char* kind, const std::string& sentence) {
  char stamp[32];
  std::snprintf(stamp, sizeof stamp, "%.6f", time_);
  out_.push_back(JsonObject()
                     .add("event", "observed")
                     .raw("time", stamp)
                     .add("kind", kind)
                     .add("text", sentence)
                     .done());
}

std::vector<std::string> StatusWatch::take(const std::vector<ShardStatus>& shards, double time) {
  time_ = time;
  for (const ShardStatus& s : shards) reached_ |= s.answered();
  if (!reached()) return {};
  look_at_shards(shards);
  look_at_job(shards);
  look_at_trainers(shards);
  return std::exchange(out_, {});
}

void StatusWatch::look_at_shards(const std::vector<ShardStatus>& shards) {
  for (const ShardStatus& s : shards) {
    Shard& before = shards_[s.endpoint];
    if (before.seen && before.answered && !s.answered())
      observed("pserver_lost", text("pserver ", s.endpoint, " does not answer: ", s.problem));
    if (s.answered() && before.instance != 0 && before.instance != s.instance)
      observed("pserver_restarted", text("pserver ", s.endpoint, " was started again"));
    else if (before.seen && !before.answered && s.answered())
      observed("pserver_back", text("pserver ", s.endpoint, " answers"));
    before.seen = true;
    before.answered = s.answered();
    if (s.answered()) before.instance = s.instance;
  }
}

// The newest step that all shards have a snapshot of.
static std::optional<uint64_t> common_snapshot(const std::vector<ShardStatus>& shards) {
  std::optional<uint64_t> lowest;
  for (const ShardStatus& s : shards) {
    if (s.sparse && s.tables.empty()) continue;
    if (!s.answered() || s.snapshots.empty()) return {};
    lowest = std::min(lowest.value_or(s.snapshots.back()), s.snapshots.back());
  }
  return lowest;
}

void StatusWatch::look_at_job(const std::vector<ShardStatus>& shards) {
  uint64_t epoch = 0, step = 0;
  for (const ShardStatus& s : shards) {
    if (s.epoch > epoch) step = s.step;
    epoch = std::max(epoch, s.epoch);
  }
  if (epoch > epoch_)
    observed("rollback", text("the job went back to a snapshot, and is at step ", step, " now"));
  epoch_ = std::max(epoch, epoch_);
  const std::optional<uint64_t> snapshot = common_snapshot(shards);
  if (snapshot && *snapshot > snapshot_)
    observed("snapshot", text("all pservers have a snapshot of step ", *snapshot));
  if (snapshot) snapshot_ = *snapshot;
}

void StatusWatch::look_at_trainers(const std::vector<ShardStatus>& shards) {
  for (const MemberStatus& m : trainers_of(shards)) {
    Trainer& before = trainers_[m.trainer];
    const bool lost = m.state.find("lost") != std::string::npos;
    const bool was_lost = before.state.find("lost") != std::string::npos;
    if (lost && !was_lost)
      observed("trainer_lost", text("trainer ", m.trainer, " (", m.process, ") is lost"));
    if (m.state == "joined" && before.state != "joined")
      observed("trainer_joined", text("trainer ", m.trainer, " (", m.process, ") has joined"));
    if (m.state == "finished" && before.state != "finished")
      observed("trainer_finished", text("trainer ", m.trainer, " has finished"));
    before.state = m.state;
    if (asks_for(m.trainer) && m.progress.step != before.step) report_progress(m);
    before.step = m.progress.step;
  }
}

void StatusWatch::report_progress(const MemberStatus& m) {
  const wire::Progress& p = m.progress;
  out_.push_back(event_line(event::Progress{.trainer = m.trainer,
                                            .step = static_cast<int64_t>(p.step),
                                            .pass = static_cast<int64_t>(p.pass),
                                            .passes = static_cast<int64_t>(p.passes),
                                            .batch = static_cast<int64_t>(p.batch),
                                            .batches = static_cast<int64_t>(p.batches),
                                            .samples = static_cast<int64_t>(p.samples),
                                            .samples_per_second = p.rate,
                                            .cost = p.cost},
                            {"trainer", m.process}, time_));
}

}  // namespace paddle
