// The emulated device: a mapping of memory that only kernels and copies may use. While other code
// runs it is inaccessible, so that host code which reads or writes the device's memory, as no GPU
// would let it, ends the process with a message that names the op. Kernels and copies wait in a
// queue, as in a stream, and run some later than others.
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <deque>
#include <iterator>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "kernels/cuda/launch.h"
#include "kernels/cuda/open_gpu.h"

namespace paddle::cuda {
namespace {

constexpr int gpus = 2;  // two trainers of one machine have one each
constexpr size_t space = size_t{4} << 30;
// Bytes behind every allocation, which no kernel may change.
constexpr size_t border = 256;
constexpr unsigned char border_byte = 0xC5, fresh_byte = 0xFF;  // a fresh number is a NaN

// What the handler of SIGSEGV reads: a signal handler gets no other arguments.
struct Mapped {
  std::atomic<std::byte*> base{nullptr};
  std::atomic<const char*> op{nullptr};
};
constexpr int most_open = 64;
Mapped mapped[most_open];
struct sigaction before;

void write_text(const char* text) {
  if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) return;
}

void on_fault(int signal, siginfo_t* info, void* context) {
  const auto* at = static_cast<const std::byte*>(info->si_addr);
  for (const Mapped& m : mapped) {
    const std::byte* base = m.base;
    if (base == nullptr || at < base || at >= base + space) continue;
    const char* op = m.op;
    write_text("host code used the memory of the emulated GPU ");
    write_text(op != nullptr ? "in op " : "outside of any op");
    write_text(op != nullptr ? op : "");
    write_text(": this is a defect of the program\n");
    _exit(1);
  }
  if (before.sa_flags & SA_SIGINFO && before.sa_sigaction != nullptr)
    return before.sa_sigaction(signal, info, context);
  ::sigaction(SIGSEGV, &before, nullptr);  // the access happens again, without us
}

size_t rounded(size_t bytes) { return (bytes + border + 255) / 256 * 256; }

constexpr size_t most_waiting = 24;  // kernels and copies

class EmulatedGpu : public Gpu {
 public:
  explicit EmulatedGpu(const HostProducts& products) : products_(products) {
    void* memory =
        ::mmap(nullptr, space, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    require(memory != MAP_FAILED, Error::Kind::config,
            "cannot map the memory of the emulated GPU: ", std::strerror(errno));
    base_ = static_cast<std::byte*>(memory);
    free_[0] = space;
    for (Mapped& m : mapped) {
      std::byte* none = nullptr;
      if (m.base.compare_exchange_strong(none, base_)) {
        mapped_ = &m;
        return;
      }
    }
    ::munmap(base_, space);
    throw Error(Error::Kind::config, "at most ", most_open,
                " emulated GPUs may be open in a process");
  }
  ~EmulatedGpu() override {
    run(waiting_.size());
    mapped_->base = nullptr;
    ::munmap(base_, space);
  }

  std::string name() const override { return "emulated"; }

  // The first gap that is large enough.
  void* allocate(size_t bytes) override {
    const size_t size = rounded(bytes);
    for (auto gap = free_.begin(); gap != free_.end(); ++gap) {
      const auto [offset, length] = *gap;
      if (length < size) continue;
      free_.erase(gap);
      if (length > size) free_[offset + size] = length - size;
      used_[offset] = bytes;
      end_ = std::max(end_, offset + size);
      protect(PROT_READ | PROT_WRITE);
      std::memset(base_ + offset, fresh_byte, bytes);
      std::memset(base_ + offset + bytes, border_byte, size - bytes);
      protect(PROT_NONE);
      return base_ + offset;
    }
    throw Error(Error::Kind::config, "the emulated GPU has not enough memory for ", bytes,
                " bytes: ", space, " bytes in all, ", used_.size(), " allocations");
  }

  void release(void* memory) noexcept override {
    auto* p = static_cast<std::byte*>(memory);
    const auto offset = static_cast<size_t>(p - base_);
    const size_t bytes = used_.at(offset), size = rounded(bytes);
    run(waiting_.size());
    protect(PROT_READ | PROT_WRITE);
    for (size_t i = bytes; i < size; ++i)
      if (p[i] != std::byte{border_byte}) {
        write_text(
            "a kernel wrote behind its memory on the emulated GPU: this is a defect of the "
            "program\n");
        _exit(1);
      }
    protect(PROT_NONE);
    used_.erase(offset);
    auto gap = free_.emplace(offset, size).first;
    if (const auto next = std::next(gap); next != free_.end() && offset + size == next->first) {
      gap->second += next->second;
      free_.erase(next);
    }
    if (gap == free_.begin()) return;
    const auto last = std::prev(gap);
    if (last->first + last->second != offset) return;
    last->second += gap->second;
    free_.erase(gap);
  }

  void upload(void* to, const void* from, size_t bytes) override {
    check_range(to, bytes);
    count_upload(bytes);
    const auto* first = static_cast<const std::byte*>(from);
    enqueue([to, copy = std::vector<std::byte>(first, first + bytes)] {
      std::memcpy(to, copy.data(), copy.size());
    });
  }
  void download(void* to, const void* from, size_t bytes) override {
    check_range(from, bytes);
    count_download(bytes);
    enqueue([=] { std::memcpy(to, from, bytes); });
    wait();
  }
  void copy(void* to, const void* from, size_t bytes) override {
    check_range(to, bytes);
    check_range(from, bytes);
    enqueue([=] { std::memmove(to, from, bytes); });
  }
  void wait() override { run(waiting_.size()); }
  void pin(void* memory, size_t bytes) noexcept override {
    pinned_[memory] = bytes;
    work.pinned += bytes;
  }
  void unpin(void* memory) noexcept override {
    const auto at = pinned_.find(memory);
    if (at == pinned_.end()) return;
    work.pinned -= at->second;
    pinned_.erase(at);
  }
  void running(const char* op) noexcept override { mapped_->op = op; }

  void multiply(const Device&, const Product<float>& p) override { multiply(products_.f32, p); }
  void multiply(const Device&, const Product<double>& p) override { multiply(products_.f64, p); }

  // Now and then some of what waits is run.
  void enqueue(std::function<void()> work) override {
    waiting_.emplace_back(mapped_->op.load(), std::move(work));
    const bool full = waiting_.size() >= most_waiting;
    if (full || delays_() % 8 == 0) run(full ? most_waiting / 2 : delays_() % waiting_.size());
  }
  void check_argument(const void* p) const override {
    if (p != nullptr) check_range(p, 0);
  }
  // What is aligned as a pointer and leads to memory that is there counts as one.
  void check_members(const void* object, size_t bytes) const override {
    for (size_t at = 0; at + sizeof(void*) <= bytes; at += sizeof(void*)) {
      uintptr_t word = 0;
      std::memcpy(&word, static_cast<const std::byte*>(object) + at, sizeof word);
      const auto* p = reinterpret_cast<const std::byte*>(word);
      if (p >= base_ && p < base_ + space)
        check_range(p, 0);
      else
        require(word < (uintptr_t{1} << 32) || !is_mapped(word), Error::Kind::io,
                "a kernel of the emulated GPU was given memory of the host");
    }
  }

 private:
  // What has been in use; the rest stays inaccessible.
  void protect(int how) noexcept {
    if (::mprotect(base_, (end_ + 4095) / 4096 * 4096, how) == 0) return;
    write_text("cannot protect the memory of the emulated GPU\n");
    _exit(1);
  }

  static bool is_mapped(uintptr_t address) {
    unsigned char resident = 0;
    return address < (uintptr_t{1} << 47) &&
           ::mincore(reinterpret_cast<void*>(address / 4096 * 4096), 1, &resident) == 0;
  }

  void check_range(const void* p, size_t bytes) const {
    const auto* at = static_cast<const std::byte*>(p);
    const bool inside = at >= base_ && at < base_ + space;
    require(inside, Error::Kind::io, "the emulated GPU was given memory of the host");
    const auto next = used_.upper_bound(static_cast<size_t>(at - base_));
    const bool known = next != used_.begin() &&
                       at + bytes <= base_ + std::prev(next)->first + std::prev(next)->second + 1;
    require(known, Error::Kind::io, "the emulated GPU was given memory that is not allocated");
  }

  template <class Call, class T>
  void multiply(Call call, const Product<T>& p) {
    check_range(p.a, 0);
    check_range(p.b, 0);
    check_range(p.c, 0);
    enqueue([=, this] {
      call(Device(pool_), p.trans_a, p.trans_b, p.m, p.n, p.k, p.alpha, p.a, p.lda, p.b, p.ldb,
           p.beta, p.c, p.ldc);
    });
  }

  // The first `count` of what waits.
  void run(size_t count) {
    if (count == 0) return;
    const char* now = mapped_->op;
    protect(PROT_READ | PROT_WRITE);
    for (; count > 0; --count) {
      mapped_->op = waiting_.front().first;
      waiting_.front().second();
      waiting_.pop_front();
    }
    protect(PROT_NONE);
    mapped_->op = now;
  }

  // What was started and has not run, with the op that started it.
  std::deque<std::pair<const char*, std::function<void()>>> waiting_;
  std::minstd_rand delays_;  // the same in every run
  std::map<void*, size_t> pinned_;
  ThreadPool pool_{1};
  Mapped* mapped_ = nullptr;
  HostProducts products_;
  std::byte* base_ = nullptr;
  size_t end_ = 0;
  std::map<size_t, size_t> free_, used_;  // offset and length; of used ones the bytes asked for
};

void watch_faults() {
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

int count_gpus(std::string&) { return gpus; }

std::shared_ptr<Accelerator> open_gpu(int index, const HostProducts& products) {
  require(index >= 0 && index < gpus, Error::Kind::config, "there is no emulated GPU ", index,
          ": their numbers are 0 to ", gpus - 1);
  watch_faults();
  return std::make_shared<EmulatedGpu>(products);
}

}  // namespace paddle::cuda
