// A dump that lies in a file of a snapshot. What is read in order is read ahead by another thread,
// past the page cache where the file system allows that: a restart waits for the disk or for the
// table, not for one after the other, and needs no memory for the file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "pserver/table_dump.h"

namespace paddle {

class DumpOnDisk final : public TableDump {
 public:
  // Finds the parts. Throws Error(data or io), as read() does.
  DumpOnDisk(std::string path, const Sum& expected);
  ~DumpOnDisk() override;

  // Reads all of it and compares the sum.
  void check() const;
  // The first bytes of the first part, or fewer.
  PartBytes begin(size_t bytes) const;

  void add(PartBytes part) override;
  Sum store(AtomicDirectory& snapshot, const std::string& name) override;
  size_t parts() const override { return places_.size(); }
  // In order from the first one on, the last part comes only where the sum of all is right.
  PartBytes read(size_t part) const override;

 private:
  struct Place {
    uint64_t offset, length;
  };
  struct Free {
    void operator()(void* p) const;
  };
  struct Scratch {  // aligned memory for reads past the page cache
    std::unique_ptr<std::byte, Free> bytes;
    size_t size = 0;
  };
  struct Ahead;

  void find_parts();
  const std::byte* read_at(uint64_t offset, uint64_t length, Scratch& scratch) const;
  PartBytes read_part(size_t part, Scratch& scratch) const;
  void check_sum(const Sum& sum) const;
  void run_ahead() const;

  const std::string name_;
  const Sum expected_;
  Descriptor file_;
  std::vector<Place> places_;
  std::unique_ptr<Ahead> ahead_;  // the other thread, once it is needed
};

}  // namespace paddle
