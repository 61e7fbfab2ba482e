// A pserver's directory of snapshots in simulated memory. It outlives the process. A snapshot that
// was being written when the process died is not there. Checks of what is read are those of the
// real one (pserver/snapshots.cc).
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "pserver/snapshot_disk.h"
#include "sim/world.h"

namespace paddle::sim {

class Disk final : public SnapshotDisk {
 public:
  Disk(World& world, double slowest) : world_(world), slowest_(slowest) {}

  std::vector<uint64_t> steps() const override;
  std::optional<Snapshot> newest() override;
  Snapshot load(uint64_t step) override;
  void set_aside(uint64_t step) override;
  void write(Snapshot snapshot) override;
  void remove_after(uint64_t step) override;
  void mark_ended(const EndedJob& job) override;
  std::optional<EndedJob> ended() const override;
  void begin_job() override;

  // Of the process that uses it now: called when a snapshot was written.
  std::function<void(uint64_t step, const std::string& problem)> written;
  // The process died: what it was writing is lost.
  void crash();
  // It ends by itself, and writes what it was given first.
  void drain() { finish_writes(); }
  // Everything is gone, as on a new machine.
  void wipe();
  // The newest is gone, as if the machine had lost power before it reached the disk.
  void lose_newest();
  // The newest is torn, or a copy of the one before under its name.
  void damage_newest(bool copied);

 private:
  void finish_writes();
  static Snapshot copy(const Snapshot& s);
  std::string keep_written();
  std::string add_dumps(Snapshot& to, bool& torn);

  World& world_;
  const double slowest_;  // write of a snapshot, seconds
  std::map<uint64_t, Snapshot> kept_;
  std::set<uint64_t> torn_;
  std::deque<Snapshot> writing_;
  std::optional<EndedJob> ended_;
  uint64_t process_ = 0;
};

}  // namespace paddle::sim
