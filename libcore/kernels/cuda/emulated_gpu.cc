// The emulated device. Kernels and copies wait in queues, as in streams, and run some later than
// others: kernels in one queue, copies that go on beside them in two.
#include <sys/mman.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <deque>
#include <iterator>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "kernels/cuda/emulated_memory.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/open_gpu.h"

namespace paddle::cuda {
namespace {

constexpr int gpus = 2;              // two trainers of one machine have one each
constexpr size_t most_waiting = 24;  // kernels and copies

// GpuOptions::emulated, which programs take from PADDLE_EMULATED_GPU.
struct Wishes {
  uint64_t memory = uint64_t{4} << 30;  // bytes
  uint64_t fail = 0;                    // the kernel of this number fails while it runs, from 1 on
  uint64_t refuse = 0;                  // that of this number does not even start
  uint64_t seed = 1;                    // of what runs late

  static Wishes of(std::string_view rest) {
    Wishes w;
    while (!rest.empty()) {
      const std::string_view item = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(rest.size(), item.size() + 1));
      const size_t equals = std::min(item.find('='), item.size());
      const std::string_view name = item.substr(0, equals);
      uint64_t* to = name == "memory"   ? &w.memory
                     : name == "fail"   ? &w.fail
                     : name == "refuse" ? &w.refuse
                     : name == "seed"   ? &w.seed
                                        : nullptr;
      const char* end = item.data() + item.size();
      const char* begin = std::min(end, item.data() + equals + 1);
      require(to != nullptr && begin < end && std::from_chars(begin, end, *to).ptr == end,
              Error::Kind::config, "PADDLE_EMULATED_GPU has '", item,
              "'; it is a list of memory=N, fail=N, refuse=N and seed=N");
    }
    return w;
  }
};

// What was started and has not run, with the op that started it.
struct Work {
  const char* op;
  std::function<void()> run;
};

struct WaitingCopy {
  CopyTicket ticket;
  uint64_t after;  // so much of the work must be done
  Work work;
};

// As tensor cores do it: factors to 10 bits behind the point, sums in float32.
float to_tf32(float x) {
  uint32_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  bits = (bits + 0x1000) & ~uint32_t{0x1FFF};
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

void product_tf32(const Device&, bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k,
                  float alpha, const float* a, int64_t lda, const float* b, int64_t ldb, float beta,
                  float* c, int64_t ldc) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t l = 0; l < k; ++l)
        sum += to_tf32(trans_a ? a[l * lda + i] : a[i * lda + l]) *
               to_tf32(trans_b ? b[j * ldb + l] : b[l * ldb + j]);
      float& out = c[i * ldc + j];
      out = alpha * sum + (beta == 0 ? 0 : beta * out);
    }
}

class EmulatedRecording : public Recording {
 public:
  std::vector<Work> kernels;
};

class EmulatedGpu : public Gpu {
 public:
  EmulatedGpu(const Wishes& wishes, const HostProducts& products, const GpuOptions& options)
      : wishes_(wishes),
        tf32_(options.tf32),
        products_(products),
        memory_(wishes.memory),
        delays_(static_cast<uint32_t>(wishes.seed)) {}
  ~EmulatedGpu() override {
    if (failed_op_ == nullptr) run_all();
  }

  std::string name() const override { return tf32_ ? "emulated, TF32" : "emulated"; }

  void* allocate(size_t bytes) override {
    needs_host();
    return memory_.allocate(bytes);
  }
  // As of a GPU, the call waits for all kernels.
  void release(void* memory) noexcept override {
    if (failed_op_ == nullptr) run_all();
    memory_.release(memory);
  }

  void upload(void* to, const void* from, size_t bytes) override {
    needs_host();
    memory_.check(to, bytes);
    count_upload(bytes);
    const auto* first = static_cast<const std::byte*>(from);
    enqueue([to, copy = std::vector<std::byte>(first, first + bytes)] {
      std::memcpy(to, copy.data(), copy.size());
    });
  }
  void download(void* to, const void* from, size_t bytes) override {
    needs_host();
    memory_.check(from, bytes);
    count_download(bytes);
    ++work.waits;
    enqueue([=] { std::memcpy(to, from, bytes); });
    run(waiting_.size());
    fail_if_failed();
  }
  void copy(void* to, const void* from, size_t bytes) override {
    memory_.check(to, bytes);
    memory_.check(from, bytes);
    enqueue([=] { std::memmove(to, from, bytes); });
  }
  void wait() override {
    needs_host();
    ++work.waits;
    run_all();
    fail_if_failed();
  }

  CopyTicket start_download(void* to, const void* from, size_t bytes) override {
    needs_host();
    memory_.check(from, bytes);
    check_pinned(to, bytes);
    count_download(bytes);
    return start(down_, started_, [=] { std::memcpy(to, from, bytes); });
  }
  CopyTicket start_upload(void* to, const void* from, size_t bytes) override {
    needs_host();
    memory_.check(to, bytes);
    check_pinned(from, bytes);
    count_upload(bytes);
    return start(up_, 0, [=] { std::memcpy(to, from, bytes); });
  }
  void use(CopyTicket copy) override {
    needs_host();
    enqueue([=, this] { run_copies(up_, copy); });
  }
  bool ended(CopyTicket copy) override {
    if (delays_() % 4 == 0) finish_quietly(copy);
    fail_if_failed();
    return !waits(up_, copy) && !waits(down_, copy);
  }
  void finish(CopyTicket copy) override {
    needs_host();
    if (waits(up_, copy) || waits(down_, copy)) ++work.waits;
    finish_quietly(copy);
    fail_if_failed();
  }

  void begin_recording() override {
    recording_ = true;
    before_ = work;
    made_ = std::make_unique<EmulatedRecording>();
  }
  std::unique_ptr<Recording> end_recording() override {
    made_->work = {.launches = work.launches - before_.launches,
                   .products = work.products - before_.products,
                   .product_flops = work.product_flops - before_.product_flops};
    drop_recording();
    return std::move(made_);
  }
  void drop_recording() noexcept override {
    recording_ = false;
    before_.pinned = work.pinned;
    work = before_;
  }
  void replay(const Recording& recording) override {
    count_replay(recording);
    for (const Work& kernel : static_cast<const EmulatedRecording&>(recording).kernels) {
      memory_.running(kernel.op);
      enqueue(kernel.run);
    }
    fail_if_failed();
  }

  void pin(void* memory, size_t bytes) noexcept override {
    pinned_[memory] = bytes;
    work.pinned += bytes;
  }
  void unpin(void* memory) noexcept override {
    const auto at = pinned_.find(memory);
    if (at == pinned_.end()) return;
    if (failed_op_ == nullptr) run_all();
    work.pinned -= at->second;
    pinned_.erase(at);
  }
  void running(const char* op) noexcept override { memory_.running(op); }
  uint32_t last_begun() const noexcept override { return begun_; }

  void multiply(const Device&, const Product<float>& p) override {
    tf32_ ? multiply(product_tf32, p) : multiply(products_.f32, p);
  }
  void multiply(const Device&, const Product<double>& p) override { multiply(products_.f64, p); }

  // Now and then some of what waits is run.
  void enqueue(std::function<void()> run_it) override {
    if (recording_) return made_->kernels.push_back({memory_.running(), std::move(run_it)});
    fail_if_failed();
    waiting_.push_back({memory_.running(), std::move(run_it)});
    ++started_;
    const bool full = waiting_.size() >= most_waiting;
    if (full || delays_() % 8 == 0) run(full ? most_waiting / 2 : delays_() % waiting_.size());
    if (!up_.empty() && delays_() % 8 == 0) run_copies(up_, up_.front().ticket);
    if (!down_.empty() && down_.front().after <= done_ && delays_() % 8 == 0)
      run_copies(down_, down_.front().ticket);
  }
  void enqueue_kernel(std::function<void()> kernel) override {
    require(wishes_.refuse == 0 || ++refusals_ != wishes_.refuse, Error::Kind::io,
            "the GPU refused a kernel: it was asked to (PADDLE_EMULATED_GPU)");
    enqueue([this, op = guard.op, run_it = std::move(kernel)] {
      if (guard_says_begun(op)) run_it();
    });
  }

  void check_argument(const void* p) const override {
    if (p != nullptr) memory_.check(p, 0);
  }
  // What is aligned as a pointer and leads to memory that is there counts as one.
  void check_members(const void* object, size_t bytes) const override {
    for (size_t at = 0; at + sizeof(void*) <= bytes; at += sizeof(void*)) {
      uintptr_t word = 0;
      std::memcpy(&word, static_cast<const std::byte*>(object) + at, sizeof word);
      const auto* p = reinterpret_cast<const std::byte*>(word);
      if (memory_.contains(p))
        memory_.check(p, 0);
      else
        require(word < (uintptr_t{1} << 32) || !is_mapped(word), Error::Kind::io,
                "a kernel of the emulated GPU was given memory of the host");
    }
  }

 private:
  using Copies = std::deque<WaitingCopy>;

  static bool is_mapped(uintptr_t address) {
    unsigned char resident = 0;
    return address < (uintptr_t{1} << 47) &&
           ::mincore(reinterpret_cast<void*>(address / 4096 * 4096), 1, &resident) == 0;
  }

  template <class Call, class T>
  void multiply(Call call, const Product<T>& p) {
    memory_.check(p.a, 0);
    memory_.check(p.b, 0);
    memory_.check(p.c, 0);
    enqueue([=, this] {
      call(Device(pool_), p.trans_a, p.trans_b, p.m, p.n, p.k, p.alpha, p.a, p.lda, p.b, p.ldb,
           p.beta, p.c, p.ldc);
    });
  }

  void check_pinned(const void* p, size_t bytes) const {
    const auto* at = static_cast<const std::byte*>(p);
    const auto next = pinned_.upper_bound(const_cast<void*>(p));
    const bool known = next != pinned_.begin() &&
                       at + bytes <= static_cast<const std::byte*>(std::prev(next)->first) +
                                         std::prev(next)->second;
    require(known, Error::Kind::io, "a copy beside the computing needs pinned memory of the host");
  }

  // Whether the kernel does not fail. After one that does nothing runs any more, as on a GPU.
  bool guard_says_begun(uint32_t op) {
    begun_ = op;
    if (wishes_.fail == 0 || ++kernels_ != wishes_.fail) return true;
    const char* name = memory_.running();
    failed_op_ = name == nullptr ? "" : name;
    return false;
  }
  void fail_if_failed() const {
    require(failed_op_ == nullptr, Error::Kind::io,
            "a kernel of the emulated GPU failed: it was asked to (PADDLE_EMULATED_GPU)");
  }

  CopyTicket start(Copies& queue, uint64_t after, std::function<void()> copy) {
    queue.push_back({++ticket_, after, {memory_.running(), std::move(copy)}});
    return ticket_;
  }
  static bool waits(const Copies& queue, CopyTicket copy) {
    return !queue.empty() && queue.front().ticket <= copy && copy <= queue.back().ticket &&
           std::any_of(queue.begin(), queue.end(), [&](const auto& c) { return c.ticket == copy; });
  }
  void finish_quietly(CopyTicket copy) {
    if (waits(up_, copy)) run_copies(up_, copy);
    if (waits(down_, copy)) run_copies(down_, copy);
  }
  void run_all() {
    run(waiting_.size());
    if (!up_.empty()) run_copies(up_, up_.back().ticket);
    if (!down_.empty()) run_copies(down_, down_.back().ticket);
  }

  // The memory is open while one of these is there.
  struct Opened {
    explicit Opened(EmulatedGpu& gpu) : gpu(gpu) {
      if (gpu.depth_++ == 0) gpu.memory_.open();
    }
    ~Opened() {
      if (--gpu.depth_ == 0) gpu.memory_.close();
    }
    EmulatedGpu& gpu;
  };

  // The copies of a queue up to this one, behind the work that they are of.
  void run_copies(Copies& queue, CopyTicket last) {
    const Opened opened(*this);
    while (!queue.empty() && queue.front().ticket <= last) {
      if (queue.front().after > done_) run(queue.front().after - done_);
      if (failed_op_ != nullptr) return;
      const WaitingCopy copy = std::move(queue.front());
      queue.pop_front();
      run(copy.work);
    }
  }

  // The first `count` of what waits.
  void run(size_t count) {
    if (count == 0) return;
    const Opened opened(*this);
    for (; count > 0 && failed_op_ == nullptr; --count) {
      const Work next = std::move(waiting_.front());
      waiting_.pop_front();
      ++done_;
      run(next);
    }
  }
  void run(const Work& w) {
    const char* now = memory_.running();
    memory_.running(w.op);
    w.run();
    memory_.running(now);
  }

  const Wishes wishes_;
  const bool tf32_;
  HostProducts products_;
  EmulatedMemory memory_;
  std::minstd_rand delays_;  // the same in every run
  std::deque<Work> waiting_;
  uint64_t started_ = 0, done_ = 0;  // of the work
  Copies up_, down_;
  CopyTicket ticket_ = 0;
  int depth_ = 0;
  std::unique_ptr<EmulatedRecording> made_;
  DeviceWork before_;
  uint64_t kernels_ = 0, refusals_ = 0;
  uint32_t begun_ = 0;
  const char* failed_op_ = nullptr;
  std::map<void*, size_t> pinned_;
  ThreadPool pool_{1};
};

}  // namespace

int count_gpus(std::string&) { return gpus; }

std::shared_ptr<Accelerator> open_gpu(int index, const HostProducts& products,
                                      const GpuOptions& options) {
  require(index >= 0 && index < gpus, Error::Kind::config, "there is no emulated GPU ", index,
          ": their numbers are 0 to ", gpus - 1);
  return std::make_shared<EmulatedGpu>(Wishes::of(options.emulated), products, options);
}

}  // namespace paddle::cuda
