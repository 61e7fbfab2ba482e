// The snapshots of one shard: which there are, writing new ones in the background, removing old
// ones. One process at a time may use a directory. All methods belong to the shard's thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/descriptor.h"
#include "pserver/snapshot.h"

namespace paddle {

struct SnapshotOptions {
  std::string directory;  // "" makes none
  uint64_t period = 100;  // steps
  size_t keep = 3;
};

class Snapshots {
 public:
  // Called from the writing thread with the step and "" or what went wrong.
  using Written = std::function<void(uint64_t step, const std::string& problem)>;

  // Takes the directory <directory>/shard-<index>. Throws Error(config) where another process has
  // it, Error(io) where it cannot be made.
  Snapshots(const SnapshotOptions& options, size_t index, Written written);
  ~Snapshots();  // ends after the write at hand
  Snapshots(const Snapshots&) = delete;
  Snapshots& operator=(const Snapshots&) = delete;

  bool due(uint64_t version) const { return version % options_.period == 0; }
  uint64_t period() const { return options_.period; }
  // Steps of the finished ones, rising.
  std::vector<uint64_t> steps() const;

  // The newest that is whole; those that are damaged are named in the log. Nothing where the job
  // in it has ended, or where there is none. Throws Error(data) where all of them are damaged:
  // starting afresh would lose the model without a word.
  std::optional<Snapshot> newest();
  Snapshot load(uint64_t step) const;  // throws Error(data) or Error(io)
  // A damaged one is not offered any more; it stays on the disk under another name.
  void set_aside(uint64_t step);

  // Hands it to the writing thread. One that waits there for its turn is left out for this one.
  void write(Snapshot snapshot);
  // Returns when nothing is left to write.
  void drain();

  // Those after `step` belong to a past that was given up.
  void remove_after(uint64_t step);
  // The job has ended: the next start shall not take up its snapshots. The next job removes them.
  void mark_ended();
  void begin_job();

 private:
  void serve();
  void write_one(const Snapshot& snapshot);
  void remove_old();
  std::string path(uint64_t step) const { return root_ + "/" + snapshot_name(step); }

  SnapshotOptions options_;
  std::string root_;
  Descriptor lock_;
  Written written_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Snapshot> next_;
  bool busy_ = false, ends_ = false;
  std::thread thread_;
};

}  // namespace paddle
