// The parts of a table's dump (table/part.h) in a snapshot. They go to the disk one by one while
// the snapshot is put together, and come back one by one, so that no process holds a table twice.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/file.h"

namespace paddle {

using PartBytes = std::vector<std::byte>;

class TableDump {
 public:
  struct Sum {  // of its file
    uint64_t bytes = 0;
    uint32_t crc32 = 0;
    void add(const void* data, size_t size);
  };

  virtual ~TableDump() = default;
  // ---- while it is made
  virtual void add(PartBytes part) = 0;
  // Much of it waits for the disk: there is no hurry.
  virtual bool waits_for_disk() const { return false; }
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
  bool waits_for_disk() const override;
  Sum store(AtomicDirectory& snapshot, const std::string& name) override;
  size_t parts() const override { return 0; }
  PartBytes read(size_t part) const override;

 private:
  void write(const PartBytes& part);

  const std::string path_;
  const Later later_;
  const std::function<void()> has_room_;
  std::atomic<uint64_t> queued_ = 0;  // bytes
  // Of the other thread.
  Descriptor file_;
  Sum sum_;
  std::string problem_;
  bool stored_ = false;
};

// Of a snapshot: all parts are compared with `expected` first. Throws Error(data or io).
std::shared_ptr<TableDump> open_dump(const std::string& path, const TableDump::Sum& expected);

}  // namespace paddle
