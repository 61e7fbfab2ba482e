#include "sim/disk.h"

namespace paddle::sim {

Snapshot Disk::copy(const Snapshot& s) {
  Snapshot out = s;
  for (Tensor& t : out.values) t = t.clone();
  return out;
}

std::vector<uint64_t> Disk::steps() const {
  std::vector<uint64_t> out;
  if (!ended_)
    for (const auto& [step, s] : kept_) out.push_back(step);
  return out;
}

// At least one is whole: damage_newest() leaves the others.
std::optional<Snapshot> Disk::newest() {
  if (ended_) return {};
  while (!kept_.empty()) {
    const uint64_t step = kept_.rbegin()->first;
    try {
      return load(step);
    } catch (const Error&) {
      set_aside(step);
    }
  }
  return {};
}

Snapshot Disk::load(uint64_t step) {
  finish_writes();
  require(kept_.count(step) == 1, Error::Kind::data, "there is no snapshot of step ", step);
  require(torn_.count(step) == 0, Error::Kind::data, "the snapshot of step ", step, " is damaged");
  const Snapshot& s = kept_.at(step);
  require(s.step == step, Error::Kind::data, "the snapshot of step ", step, " is that of step ",
          s.step);
  return copy(s);
}

void Disk::set_aside(uint64_t step) {
  kept_.erase(step);
  torn_.erase(step);
}

// The dumps that it adds to, which must be there. Those of a torn snapshot are torn.
std::string Disk::add_dumps(Snapshot& to, bool& torn) {
  for (size_t i = 0; i < to.tables.size(); ++i) {
    SnapshotTable& t = to.tables[i];
    if (t.since > 0) {
      const auto at = kept_.find(t.base);
      if (at == kept_.end() || at->second.step != t.base || at->second.tables[i].mark != t.since)
        return text("the snapshot of step ", t.base, ", to which it adds, is gone");
      const SnapshotTable& base = at->second.tables[i];
      torn = torn || torn_.count(t.base) > 0;
      t.dumps = base.dumps;
      t.dump = std::make_shared<DumpChain>(std::vector{base.dump, t.dump});
    }
    t.dumps.push_back({{}, t.since, t.mark});
  }
  return "";
}

// "", or why it could not be written.
std::string Disk::keep_written() {
  Snapshot s = std::move(writing_.front());
  writing_.pop_front();
  bool torn = false;
  std::string problem = add_dumps(s, torn);
  if (!problem.empty()) return problem;
  const uint64_t step = s.step;
  set_aside(step);  // another one of the same step, to which it may add
  if (torn) torn_.insert(step);
  kept_.emplace(step, std::move(s));
  return "";
}

void Disk::finish_writes() {
  while (!writing_.empty()) {
    const uint64_t step = writing_.front().step;
    const std::string problem = keep_written();
    world_.at(world_.now(), [this, step, problem, process = process_] {
      if (process == process_ && written) written(step, problem);
    });
  }
}

void Disk::write(Snapshot snapshot) {
  writing_.push_back(std::move(snapshot));
  world_.after(world_.random.between(0.0005, slowest_), [this, process = process_] {
    if (process != process_ || writing_.empty()) return;
    const uint64_t step = writing_.front().step;
    const std::string problem = keep_written();
    if (written) written(step, problem);
  });
}

void Disk::remove_after(uint64_t step) {
  finish_writes();
  kept_.erase(kept_.upper_bound(step), kept_.end());
}

void Disk::mark_ended(const EndedJob& job) { ended_ = job; }

std::optional<EndedJob> Disk::ended() const { return ended_; }

void Disk::begin_job() {
  finish_writes();
  wipe();
}

void Disk::crash() {
  writing_.clear();
  written = {};
  ++process_;
}

void Disk::wipe() {
  kept_.clear();
  torn_.clear();
  ended_.reset();
}

void Disk::lose_newest() {
  if (kept_.size() > 1) set_aside(kept_.rbegin()->first);
}

void Disk::damage_newest(bool copied) {
  if (kept_.size() - torn_.size() < 2) return;
  const auto newest = std::prev(kept_.end());
  if (copied)
    newest->second = copy(std::prev(newest)->second);
  else
    torn_.insert(newest->first);
}

}  // namespace paddle::sim
