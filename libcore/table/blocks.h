// The memory of a table: blocks of one size, cut from slabs. A slab is address space first; its
// memory is taken step by step as blocks are handed out, so that no call waits for much of it, and
// every step is charged to a budget before it is taken.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "table/populate.h"

namespace paddle {

// How much memory the pools of one table may hold together.
class MemoryLimit {
 public:
  explicit MemoryLimit(size_t limit = 0) : limit_(limit) {}
  size_t limit() const { return limit_; }  // 0 = none
  size_t held() const { return held_; }
  // Throws Error(config) if the limit would be passed; nothing has changed then.
  void take(size_t bytes);
  void give(size_t bytes) { held_ -= bytes; }

 private:
  size_t limit_;
  size_t held_ = 0;
};

class BlockPool {
 public:
  // `block_bytes` is rounded up to whole cache lines. The budget outlives the pool.
  BlockPool(size_t block_bytes, MemoryLimit& budget);
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  size_t block_bytes() const { return block_bytes_; }
  // A block with unspecified content. Throws Error(config) at the limit of the budget.
  std::byte* take();
  // So many blocks are about to be taken from a pool that has none: their memory is made by other
  // threads meanwhile.
  void expect(size_t blocks);
  void give(std::byte* block);
  // Memory that was charged, blocks that are free included.
  size_t bytes() const { return charged_; }

 private:
  struct Slab {
    std::byte* address;
    size_t bytes;
  };
  void add_slab(size_t bytes);
  size_t next_slab() const;

  size_t block_bytes_;
  MemoryLimit& budget_;
  std::vector<Slab> slabs_;
  std::byte* next_ = nullptr;        // of the last slab: the first byte that no block has
  std::byte* charged_to_ = nullptr;  // the end of what was charged of it
  std::byte* end_ = nullptr;
  size_t step_ = 0;  // bytes that are charged at a time
  size_t charged_ = 0;
  std::byte* free_ = nullptr;           // a list through the first bytes of free blocks
  std::unique_ptr<Populate> populate_;  // of the first slab
};

}  // namespace paddle
