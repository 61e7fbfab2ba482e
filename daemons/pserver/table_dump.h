// The parts of a table's dumps (table/part.h) in a snapshot: of a whole one, and of changes that
// were added to it. They go to the disk one by one while the snapshot is put together, and come
// back one by one, so that no process holds a table twice.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "pserver/direct_file.h"

namespace paddle {

using PartBytes = std::vector<std::byte>;

class TableDump {
 public:
  struct Sum {  // of its file
    uint64_t bytes = 0;
    uint64_t checksum = 0;
    void add(const PartBytes& part);
    bool operator==(const Sum&) const = default;
  };

  virtual ~TableDump() = default;
  // ---- while it is made
  virtual void add(PartBytes part) = 0;
  // Memory for the next part, of one that is written, or none. New memory costs more than to fill
  // it, as the system has to clear it first.
  virtual PartBytes spare() { return {}; }
  // Much of it waits for the disk: there is no hurry.
  virtual bool waits_for_disk() const { return false; }
  // Returns when it does not.
  virtual void wait_for_disk() {}
  // Puts it into a snapshot, where nothing is added any more. Throws Error(io).
  virtual Sum store(AtomicDirectory& snapshot, const std::string& name) = 0;
  // ---- while it is read
  virtual size_t parts() const = 0;
  virtual PartBytes read(size_t part) const = 0;
};

// In memory: of simulated disks.
class DumpInMemory final : public TableDump {
 public:
  void add(PartBytes part) override { parts_.push_back(std::move(part)); }
  Sum store(AtomicDirectory& snapshot, const std::string& name) override;
  size_t parts() const override { return parts_.size(); }
  PartBytes read(size_t part) const override { return parts_[part]; }

 private:
  std::vector<PartBytes> parts_;
};

// In a file beside the snapshots until its snapshot takes it.
class DumpInFile final : public TableDump, public std::enable_shared_from_this<DumpInFile> {
 public:
  // Does its argument later, in order, in another thread; and calls the second, there, when the
  // dump waits for the disk no longer.
  using Later = std::function<void(std::function<void()>)>;
  DumpInFile(std::string path, Later later, std::function<void()> has_room);
  ~DumpInFile() override;

  void add(PartBytes part) override;
  PartBytes spare() override;
  bool waits_for_disk() const override;
  void wait_for_disk() override;
  Sum store(AtomicDirectory& snapshot, const std::string& name) override;
  size_t parts() const override { return 0; }
  PartBytes read(size_t part) const override;

 private:
  void write(const PartBytes& part);

  const std::string path_;
  const Later later_;
  const std::function<void()> has_room_;
  std::atomic<uint64_t> queued_ = 0;  // bytes
  std::mutex mutex_;
  std::vector<PartBytes> spare_;
  // Of the other thread.
  std::optional<DirectFile> file_;
  Sum sum_;
  std::string problem_;
  bool stored_ = false;
};

// Dumps that were made one after the other, as one that is read.
class DumpChain final : public TableDump {
 public:
  explicit DumpChain(std::vector<std::shared_ptr<TableDump>> dumps) : dumps_(std::move(dumps)) {}

  void add(PartBytes) override;
  Sum store(AtomicDirectory& snapshot, const std::string& name) override;
  size_t parts() const override;
  PartBytes read(size_t part) const override;

 private:
  std::vector<std::shared_ptr<TableDump>>
      dumps_;  // shared with other snapshots of a disk in memory
};

}  // namespace paddle
