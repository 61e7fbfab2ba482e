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

std::optional<Snapshot> Disk::newest() {
  if (ended_ || kept_.empty()) return {};
  return copy(kept_.rbegin()->second);
}

Snapshot Disk::load(uint64_t step) {
  finish_writes();
  require(kept_.count(step) == 1, Error::Kind::data, "there is no snapshot of step ", step);
  return copy(kept_.at(step));
}

void Disk::finish_writes() {
  while (!writing_.empty()) {
    const uint64_t step = writing_.front().step;
    kept_.insert_or_assign(step, std::move(writing_.front()));
    writing_.pop_front();
    world_.at(world_.now(), [this, step, process = process_] {
      if (process == process_ && written) written(step);
    });
  }
}

void Disk::write(Snapshot snapshot) {
  writing_.push_back(std::move(snapshot));
  world_.after(world_.random.between(0.0005, 0.05), [this, process = process_] {
    if (process != process_ || writing_.empty()) return;
    const uint64_t step = writing_.front().step;
    kept_.insert_or_assign(step, std::move(writing_.front()));
    writing_.pop_front();
    if (written) written(step);
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
  ended_.reset();
  kept_.clear();
}

void Disk::crash() {
  writing_.clear();
  written = {};
  ++process_;
}

void Disk::wipe() {
  kept_.clear();
  ended_.reset();
}

void Disk::lose_newest() {
  if (kept_.size() > 1) kept_.erase(std::prev(kept_.end()));
}

}  // namespace paddle::sim
