// The memory of the emulated device: a mapping that only kernels and copies may use. While other
// code runs it is inaccessible, so that host code which reads or writes it, as no GPU would let it,
// ends the process with a message that names the op. Between two allocations lies a page that is
// never accessible: a kernel that leaves its memory ends the process too.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>

namespace paddle::cuda {

class EmulatedMemory {
 public:
  // At most `limit` bytes may be allocated at a time.
  explicit EmulatedMemory(size_t limit);
  ~EmulatedMemory();
  EmulatedMemory(const EmulatedMemory&) = delete;

  // Full of NaNs. Throws Error(config) where there is not enough.
  void* allocate(size_t bytes);
  // Ends the process where something was written behind it.
  void release(void* memory) noexcept;

  // For kernels and copies; not for host code.
  void open() noexcept;
  void close() noexcept;
  // The op that runs or whose kernel runs, for messages; null for none.
  void running(const char* op) noexcept;
  const char* running() const noexcept;

  bool contains(const void* p) const;
  // Throws Error(io) where the bytes are not of one allocation.
  void check(const void* p, size_t bytes) const;

 private:
  struct Part {
    size_t pages;  // bytes of whole pages
    size_t first;  // of the pages' bytes, where the memory begins: it ends with the last page
    size_t bytes;  // that were asked for
  };
  std::byte* start(size_t offset, const Part& part) const { return base_ + offset + part.first; }

  size_t limit_, held_ = 0;
  std::byte* base_ = nullptr;
  size_t slot_ = 0;                // what the handler of faults knows of this memory
  std::map<size_t, size_t> free_;  // offset and length, in whole pages
  std::map<size_t, Part> used_;    // by offset
  std::map<const void*, size_t> offsets_;
};

}  // namespace paddle::cuda
