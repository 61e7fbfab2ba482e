// A pserver's directory of snapshots in simulated memory. It outlives the process. A snapshot that
// was being written when the process died is not there.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "pserver/snapshot_disk.h"
#include "sim/world.h"

namespace paddle::sim {

class Disk final : public SnapshotDisk {
 public:
  explicit Disk(World& world) : world_(world) {}

  std::vector<uint64_t> steps() const override;
  std::optional<Snapshot> newest() override;
  Snapshot load(uint64_t step) override;
  void set_aside(uint64_t step) override { kept_.erase(step); }
  void write(Snapshot snapshot) override;
  void remove_after(uint64_t step) override;
  void mark_ended(const EndedJob& job) override;
  std::optional<EndedJob> ended() const override;
  void begin_job() override;

  // Of the process that uses it now: called when a snapshot was written.
  std::function<void(uint64_t step)> written;
  // The process died: what it was writing is lost.
  void crash();
  // Everything is gone, as on a new machine.
  void wipe();
  // The newest is gone, as if the machine had lost power before it reached the disk.
  void lose_newest();

 private:
  void finish_writes();
  static Snapshot copy(const Snapshot& s);

  World& world_;
  std::map<uint64_t, Snapshot> kept_;
  std::deque<Snapshot> writing_;
  std::optional<EndedJob> ended_;
  uint64_t process_ = 0;
};

}  // namespace paddle::sim
