// The snapshots of one shard in a directory: which there are, writing new ones in the background,
// removing old ones. One process at a time may use a directory. All methods belong to the shard's
// thread; what they ask for is done by another one, in order.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/descriptor.h"
#include "pserver/snapshot_disk.h"

namespace paddle {

class Snapshots final : public SnapshotDisk {
 public:
  // Called from the writing thread with the step and "" or what went wrong.
  using Written = std::function<void(uint64_t step, const std::string& problem)>;

  // Takes the directory <directory>/<name>. Throws Error(config) where another process has
  // it, Error(io) where it cannot be made.
  // `has_room` is called from there too, where a dump that waited for the disk can go on.
  Snapshots(
      const SnapshotOptions& options, const std::string& name, Written written,
      std::function<void()> has_room = [] {});
  ~Snapshots() override;  // does what was asked for first
  Snapshots(const Snapshots&) = delete;
  Snapshots& operator=(const Snapshots&) = delete;

  std::vector<uint64_t> steps() const override;
  std::optional<Snapshot> newest() override;
  bool restore(const std::function<void(Snapshot)>& use) override;
  Snapshot load(uint64_t step) override;
  void set_aside(uint64_t step) override;
  bool shares_files() const override { return shares_files_; }
  std::shared_ptr<TableDump> begin_dump(uint64_t step, size_t table) override;
  void write(Snapshot snapshot) override;
  void remove_after(uint64_t step) override;
  void mark_ended(const EndedJob& job) override;
  std::optional<EndedJob> ended() const override;
  void begin_job() override;

  // How often snapshots were written since the process began, and how many seconds that took.
  struct Writes {
    uint64_t done = 0, failed = 0;
    double seconds = 0, last = 0;
  };
  Writes writes() const;

  // Returns when nothing is left to do.
  void drain();

 private:
  void later(std::function<void()> work);
  void serve();
  void write_one(Snapshot& snapshot);
  Snapshot load(uint64_t step, DumpCheck when);
  bool try_newest(DumpCheck when, const std::function<void(Snapshot)>& use);
  std::string path(uint64_t step) const { return root_ + "/" + snapshot_name(step); }

  SnapshotOptions options_;
  std::string root_;
  Descriptor lock_;
  bool shares_files_ = false;
  Written written_;
  std::function<void()> has_room_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  bool busy_ = false, ends_ = false;
  Writes writes_;
  std::thread thread_;
};

}  // namespace paddle
