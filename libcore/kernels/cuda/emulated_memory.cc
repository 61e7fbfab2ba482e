#include "kernels/cuda/emulated_memory.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <mutex>

#include "base/error.h"
#include "tensor/tensor.h"

namespace paddle::cuda {
namespace {

constexpr size_t space = size_t{16} << 30;  // of addresses; what is asked for takes memory
constexpr size_t page = 4096;
constexpr unsigned char border_byte = 0xC5, fresh_byte = 0xFF;  // a fresh number is a NaN

// What the handler of SIGSEGV reads: a signal handler gets no other arguments.
struct Mapped {
  std::atomic<std::byte*> base{nullptr};
  std::atomic<const char*> op{nullptr};
  std::atomic<bool> open{false};
};
constexpr size_t most_open = 64;
Mapped mapped[most_open];
struct sigaction before;

void write_text(const char* text) {
  if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) return;
}

[[noreturn]] void end_process(const char* what, const char* op) {
  write_text(what);
  write_text(op != nullptr ? "in op " : "outside of any op");
  write_text(op != nullptr ? op : "");
  write_text(": this is a defect of the program\n");
  _exit(1);
}

void on_fault(int signal, siginfo_t* info, void* context) {
  const auto* at = static_cast<const std::byte*>(info->si_addr);
  for (const Mapped& m : mapped) {
    const std::byte* base = m.base;
    if (base == nullptr || at < base || at >= base + space) continue;
    end_process(m.open ? "a kernel left its memory on the emulated GPU "
                       : "host code used the memory of the emulated GPU ",
                m.op);
  }
  if (before.sa_flags & SA_SIGINFO && before.sa_sigaction != nullptr)
    return before.sa_sigaction(signal, info, context);
  ::sigaction(SIGSEGV, &before, nullptr);  // the access happens again, without us
}

void watch_faults() {
  static std::mutex one_thread;
  const std::lock_guard lock(one_thread);
  struct sigaction now = {};
  ::sigaction(SIGSEGV, nullptr, &now);
  if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_fault) return;
  before = now;
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGSEGV, &action, nullptr);
}

}  // namespace

EmulatedMemory::EmulatedMemory(size_t limit) : limit_(limit) {
  watch_faults();
  void* memory =
      ::mmap(nullptr, space, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  require(memory != MAP_FAILED, Error::Kind::config,
          "cannot map the memory of the emulated GPU: ", std::strerror(errno));
  base_ = static_cast<std::byte*>(memory);
  free_[0] = space;
  for (; slot_ < most_open; ++slot_) {
    std::byte* none = nullptr;
    if (mapped[slot_].base.compare_exchange_strong(none, base_)) return;
  }
  ::munmap(base_, space);
  throw Error(Error::Kind::config, "at most ", most_open,
              " emulated GPUs may be open in a process");
}

EmulatedMemory::~EmulatedMemory() {
  mapped[slot_].base = nullptr;
  ::munmap(base_, space);
}

// The first gap that is large enough, with a page behind it.
void* EmulatedMemory::allocate(size_t bytes) {
  constexpr size_t aligned = Tensor::alignment;
  const bool enough = bytes <= limit_ - held_;
  const size_t size = enough ? (bytes + aligned - 1) / aligned * aligned : 0;
  const size_t pages = (size + page - 1) / page * page, length = pages + page;
  const auto gap =
      std::find_if(free_.begin(), free_.end(), [&](const auto& g) { return g.second >= length; });
  require(enough && gap != free_.end(), Error::Kind::config,
          "the emulated GPU has not enough memory for ", bytes, " bytes: ", limit_ - held_, " of ",
          limit_, " bytes are free; take a smaller batch or end other programs");
  const auto [offset, gap_length] = *gap;
  free_.erase(gap);
  if (gap_length > length) free_[offset + length] = gap_length - length;
  const Part part{pages, pages - size, bytes};
  used_[offset] = part;
  held_ += bytes;
  std::byte* memory = start(offset, part);
  offsets_[memory] = offset;
  open();
  std::memset(memory, fresh_byte, bytes);
  std::memset(memory + bytes, border_byte, size - bytes);
  close();
  return memory;
}

void EmulatedMemory::release(void* memory) noexcept {
  const auto at = offsets_.find(memory);
  if (at == offsets_.end())
    end_process("memory was given back twice to the emulated GPU ", running());
  const size_t offset = at->second;
  const Part part = used_.at(offset);
  const auto* bytes = static_cast<const std::byte*>(memory);
  open();
  for (size_t i = part.bytes; i < part.pages - part.first; ++i)
    if (bytes[i] != std::byte{border_byte})
      end_process("a kernel wrote behind its memory on the emulated GPU, which is given back ",
                  running());
  close();
  used_.erase(offset);
  offsets_.erase(at);
  held_ -= part.bytes;
  auto gap = free_.emplace(offset, part.pages + page).first;
  if (const auto next = std::next(gap);
      next != free_.end() && offset + gap->second == next->first) {
    gap->second += next->second;
    free_.erase(next);
  }
  if (gap == free_.begin()) return;
  const auto last = std::prev(gap);
  if (last->first + last->second != offset) return;
  last->second += gap->second;
  free_.erase(gap);
}

void EmulatedMemory::open() noexcept {
  mapped[slot_].open = true;
  for (const auto& [offset, part] : used_)
    if (::mprotect(base_ + offset, part.pages, PROT_READ | PROT_WRITE) != 0)
      end_process("cannot open the memory of the emulated GPU ", running());
}

void EmulatedMemory::close() noexcept {
  mapped[slot_].open = false;
  // All at once, also what is between them.
  const size_t end = used_.empty() ? 0 : used_.rbegin()->first + used_.rbegin()->second.pages;
  if (::mprotect(base_, end, PROT_NONE) != 0)
    end_process("cannot close the memory of the emulated GPU ", running());
}

void EmulatedMemory::running(const char* op) noexcept { mapped[slot_].op = op; }
const char* EmulatedMemory::running() const noexcept { return mapped[slot_].op; }

bool EmulatedMemory::contains(const void* p) const {
  const auto* at = static_cast<const std::byte*>(p);
  return at >= base_ && at < base_ + space;
}

void EmulatedMemory::check(const void* p, size_t bytes) const {
  require(contains(p), Error::Kind::io, "the emulated GPU was given memory of the host");
  const auto* at = static_cast<const std::byte*>(p);
  const auto next = used_.upper_bound(static_cast<size_t>(at - base_));
  bool known = next != used_.begin();
  if (known) {
    const auto& [offset, part] = *std::prev(next);
    known = at >= start(offset, part) && at + bytes <= start(offset, part) + part.bytes + 1;
  }
  require(known, Error::Kind::io, "the emulated GPU was given memory that is not allocated");
}

}  // namespace paddle::cuda
