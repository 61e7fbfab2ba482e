#include "table/blocks.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/error.h"

namespace paddle {
namespace {

constexpr size_t cache_line = 64;
constexpr size_t huge_page = size_t{2} << 20;
constexpr size_t first_slab = size_t{64} << 10, largest_slab = size_t{64} << 20;

size_t round_up(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }

}  // namespace

void MemoryLimit::take(size_t bytes) {
  require(limit_ == 0 || (bytes <= limit_ && held_ <= limit_ - bytes), Error::Kind::config,
          "the table holds ", held_, " bytes and needs ", bytes, " more, but its memory limit is ",
          limit_,
          " bytes: raise memory_limit, use more pservers, or let rows be admitted more strictly, "
          "expire or be evicted");
  held_ += bytes;
}

BlockPool::BlockPool(size_t block_bytes, MemoryLimit& budget)
    : block_bytes_(round_up(std::max(block_bytes, sizeof(std::byte*)), cache_line)),
      budget_(budget) {}

BlockPool::~BlockPool() {
  populate_.reset();
  for (const Slab& s : slabs_) munmap(s.address, s.bytes);
  budget_.give(charged_);
}

// Small tables take small slabs. Large ones are aligned to huge pages: rows are read at random, and
// without huge pages a third of the time goes into finding their addresses.
size_t BlockPool::next_slab() const {
  size_t bytes = first_slab;
  for (size_t i = 0; i < slabs_.size() && bytes < largest_slab; ++i) bytes *= 8;
  return populate_ ? largest_slab : std::min(bytes, largest_slab);
}

void BlockPool::expect(size_t blocks) {
  const size_t bytes = blocks * block_bytes_;
  if (!slabs_.empty() || bytes <= largest_slab) return;
  add_slab(bytes);
  populate_ = std::make_unique<Populate>(slabs_[0].address, slabs_[0].bytes);
}

void BlockPool::add_slab(size_t bytes) {
  const bool huge = bytes >= 2 * huge_page;
  const size_t step = huge ? huge_page : first_slab;
  bytes = round_up(std::max(bytes, 4 * block_bytes_), step);
  slabs_.reserve(slabs_.size() + 1);
  const size_t asked = bytes + (huge ? huge_page : 0);
  void* got = mmap(nullptr, asked, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  require(got != MAP_FAILED, Error::Kind::io, "the system refuses ", asked,
          " bytes of address space for a table (", std::strerror(errno),
          "): look at the limits of the process (ulimit -v) and of the machine");
  auto* address = static_cast<std::byte*>(got);
  if (huge) {  // the parts before and after the aligned one go back
    const size_t before = round_up(reinterpret_cast<uintptr_t>(address), huge_page) -
                          reinterpret_cast<uintptr_t>(address);
    if (before > 0) munmap(address, before);
    if (before < huge_page) munmap(address + before + bytes, huge_page - before);
    address += before;
    madvise(address, bytes, MADV_HUGEPAGE);  // where it is refused, the table is only slower
  }
  slabs_.push_back({address, bytes});
  next_ = charged_to_ = address;
  end_ = address + bytes;
  step_ = step;
}

std::byte* BlockPool::take() {
  if (free_) {
    std::byte* block = free_;
    std::memcpy(&free_, block, sizeof free_);
    return block;
  }
  if (static_cast<size_t>(end_ - next_) < block_bytes_) {
    // Charged before the slab is made, so that a refusal leaves nothing behind.
    require(budget_.limit() == 0 || budget_.held() < budget_.limit(), Error::Kind::config,
            "the table holds ", budget_.held(), " bytes, which is its memory limit of ",
            budget_.limit(),
            " bytes: raise memory_limit, use more pservers, or let rows be admitted more "
            "strictly, expire or be evicted");
    add_slab(next_slab());
  }
  while (static_cast<size_t>(charged_to_ - next_) < block_bytes_) {
    budget_.take(step_);
    charged_ += step_;
    charged_to_ += step_;
  }
  std::byte* block = next_;
  next_ += block_bytes_;
  return block;
}

void BlockPool::give(std::byte* block) {
  std::memcpy(block, &free_, sizeof free_);
  free_ = block;
}

}  // namespace paddle
