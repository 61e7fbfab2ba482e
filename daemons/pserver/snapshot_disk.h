// Where snapshots are kept, as a shard's state machine sees it: a directory in a real pserver.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "pserver/last_job.h"
#include "pserver/snapshot.h"
#include "pserver/snapshot_chain.h"

namespace paddle {

struct SnapshotOptions {
  std::string directory;  // "" makes none
  uint64_t period = 100;  // steps
  size_t keep = 3;
  ChangesLimits changes = {};
};

// Writing and removing happen later, in the order of the calls; whoever owns the disk reports each
// write with Shard::written(). Loading waits for all that was asked for before.
class SnapshotDisk {
 public:
  virtual ~SnapshotDisk() = default;

  // Steps of the finished ones, rising; none of a job that has ended.
  virtual std::vector<uint64_t> steps() const = 0;
  // The newest that is whole; those that are damaged are named in the log. Nothing where the job
  // in it has ended, or where there is none. Throws Error(data) where all of them are damaged:
  // starting afresh would lose the model without a word.
  virtual std::optional<Snapshot> newest() = 0;
  // The same for use(snapshot), which reads the rows of tables: one where that finds damage (throws
  // Error(data) or Error(io)) counts as damaged too, and the one before it is tried. False where
  // there is nothing.
  virtual bool restore(const std::function<void(Snapshot)>& use) {
    std::optional<Snapshot> found = newest();
    if (found) use(std::move(*found));
    return found.has_value();
  }
  virtual Snapshot load(uint64_t step) = 0;  // throws Error(data) or Error(io)
  // A damaged one is not offered any more; it stays on the disk under another name.
  virtual void set_aside(uint64_t step) = 0;

  // Whether a snapshot may have the rows of an earlier one and what changed since (Snapshot::base).
  virtual bool shares_files() const { return true; }
  // Takes the rows of one table of the snapshot of `step`, which is written later.
  virtual std::shared_ptr<TableDump> begin_dump(uint64_t step, size_t table) {
    static_cast<void>(step);
    static_cast<void>(table);
    return std::make_shared<DumpInMemory>();
  }
  virtual void write(Snapshot snapshot) = 0;
  // Those after `step` belong to a past that was given up.
  virtual void remove_after(uint64_t step) = 0;
  // The job has ended: the next start shall not restore it. The next job removes its snapshots.
  // This one is done when it returns.
  virtual void mark_ended(const EndedJob& job) = 0;
  // The job that mark_ended() told of, where no other one has begun since.
  virtual std::optional<EndedJob> ended() const { return {}; }
  virtual void begin_job() = 0;
};

}  // namespace paddle
