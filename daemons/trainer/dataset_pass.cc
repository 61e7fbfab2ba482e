#include "trainer/dataset_pass.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "base/interrupt.h"
#include "base/thread_pool.h"

namespace paddle {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto interrupt_period = std::chrono::milliseconds(200);
constexpr size_t batches_ahead = 4;  // that wait for the step, per source

double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

void give_fetches(const Plan& plan, const PassOptions& options) {
  std::vector<Tensor> values;
  for (size_t i = 0; i < options.fetches.size(); ++i) values.push_back(plan.fetch(i));
  options.on_fetch(std::move(values));
}

bool fetches_after(int64_t batches, const PassOptions& options) {
  return !options.fetches.empty() && options.on_fetch && batches % options.fetch_period == 0;
}

// Threads that end together: the first error stops all of them and is what the pass ends with.
class Team {
 public:
  explicit Team(std::function<void()> stop_reading) : stop_reading_(std::move(stop_reading)) {}
  ~Team() {
    stop();
    for (std::thread& t : threads_) t.join();
  }

  template <class Work>
  void start(const Work& work) {
    {
      const std::lock_guard lock(mutex_);
      ++running_;
    }
    threads_.emplace_back([this, work] {
      flush_denormals();
      try {
        work();
      } catch (...) {
        fail(std::current_exception());
      }
      const std::lock_guard lock(mutex_);
      --running_;
      change_.notify_all();
    });
  }

  bool stopped() const { return stopped_; }
  void fail(std::exception_ptr error) {
    {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::move(error);
    }
    stop();
  }
  // Waits until `ready()`, which is called under the mutex, or all threads have ended, or one has
  // failed. Throws what an interrupt check throws.
  template <class Ready>
  void wait(std::unique_lock<std::mutex>& lock, const Ready& ready) {
    while (running_ > 0 && !stopped_ && !ready()) {
      change_.wait_for(lock, interrupt_period);
      lock.unlock();
      check_interrupt();
      lock.lock();
    }
  }
  void rethrow() {
    const std::lock_guard lock(mutex_);
    if (error_) std::rethrow_exception(error_);
  }

  std::mutex& mutex() { return mutex_; }
  std::condition_variable& change() { return change_; }

 private:
  void stop() {
    stopped_ = true;
    const bool early = [&] {
      const std::lock_guard lock(mutex_);
      change_.notify_all();
      return running_ > 0;
    }();
    if (early && stop_reading_) stop_reading_();
  }

  std::function<void()> stop_reading_;
  std::mutex mutex_;
  std::condition_variable change_;
  std::atomic<bool> stopped_ = false;
  size_t running_ = 0;
  std::exception_ptr error_;
  std::vector<std::thread> threads_;
};

// One thread's way through a Hogwild pass: its own plan over the shared scope.
struct Worker {
  NextBatch next;
  std::unique_ptr<Executor> executor;
  double read_seconds = 0;
  int64_t batches = 0, samples = 0;
};

void print_costs(const Worker& w, const Plan& plan, double seconds) {
  const auto batches = static_cast<double>(w.batches);
  int i = 0;
  for (const OpCost& cost : plan.profile())
    std::fprintf(stderr, "op_name:[%d][%s], op_mean_time:[%.9fs]\n", i++,
                 cost.op.substr(0, cost.op.find(':')).c_str(),
                 cost.calls ? cost.seconds / static_cast<double>(cost.calls) : 0.0);
  std::fprintf(stderr, "mean read time: %fs\n", w.read_seconds / batches);
  std::fprintf(stderr, "IO percent: %f\n", 100 * w.read_seconds / seconds);
  std::fprintf(stderr, "%6.2f instances/s\n", static_cast<double>(w.samples) / seconds);
}

class Hogwild {
 public:
  Hogwild(const Program& program, Scope& scope, const PassOptions& options)
      : program_(program), scope_(scope), options_(options) {}

  void work(Worker& w, bool first, const Team& team) {
    Batch batch;
    const auto begin = Clock::now();
    while (!team.stopped()) {
      const auto before = Clock::now();
      if (!w.next(batch)) break;
      w.read_seconds += since(before);
      const Plan& plan = step(w, batch);
      ++w.batches;
      w.samples += batch.samples;
      if (!first) continue;
      if (fetches_after(w.batches, options_)) give_fetches(plan, options_);
      if (options_.print_costs && w.batches % 100 == 0) print_costs(w, plan, since(begin));
    }
  }

 private:
  // The first step of a thread lays its plan out, which looks into the scope: one thread at a time.
  Plan& step(Worker& w, const Batch& batch) {
    std::unique_lock lock(first_step_, std::defer_lock);
    if (w.batches == 0) lock.lock();
    Plan& plan = w.executor->plan(program_, scope_, options_.feeds, options_.fetches);
    for (size_t i = 0; i < batch.fields.size(); ++i) plan.feed(i, batch.fields[i]);
    plan.run(steps_++);
    return plan;
  }

  const Program& program_;
  Scope& scope_;
  const PassOptions& options_;
  std::mutex first_step_;
  std::atomic<uint64_t> steps_ = 0;
};

// Batches of several threads for one user.
class BatchQueue {
 public:
  BatchQueue(std::vector<NextBatch> sources, const std::function<void()>& stop_reading)
      : sources_(std::move(sources)), limit_(batches_ahead * sources_.size()), team_(stop_reading) {
    for (const NextBatch& next : sources_) team_.start([this, &next] { read(next); });
  }

  // False when all sources have ended. Throws what reading threw.
  bool next(Batch& batch) {
    std::unique_lock lock(team_.mutex());
    team_.wait(lock, [&] { return !ready_.empty(); });
    if (team_.stopped() || ready_.empty()) {
      lock.unlock();
      team_.rethrow();
      return false;
    }
    batch = std::move(ready_.front());
    ready_.pop_front();
    team_.change().notify_all();
    return true;
  }

  // What next() will give, or null where it is not there yet. It stays where it is until then.
  const Batch* following() {
    const std::lock_guard lock(team_.mutex());
    return ready_.empty() ? nullptr : &ready_.front();
  }

 private:
  void read(const NextBatch& next) {
    Batch batch;
    while (!team_.stopped() && next(batch)) {
      std::unique_lock lock(team_.mutex());
      team_.change().wait(lock, [&] { return ready_.size() < limit_ || team_.stopped(); });
      ready_.push_back(std::exchange(batch, {}));
      team_.change().notify_all();
    }
  }

  std::vector<NextBatch> sources_;
  const size_t limit_;
  std::deque<Batch> ready_;
  Team team_;  // last: its threads use the others
};

}  // namespace

int64_t hogwild_pass(const Program& program, Scope& scope, std::vector<NextBatch> sources,
                     const PassOptions& options) {
  std::vector<Worker> workers(sources.size());
  for (size_t i = 0; i < sources.size(); ++i) {
    ExecutorOptions own;
    own.plan.profile = options.print_costs;
    workers[i] = {std::move(sources[i]), std::make_unique<Executor>(own)};
  }
  Hogwild pass(program, scope, options);
  {
    Team team(options.stop_reading);
    for (size_t i = 0; i < workers.size(); ++i)
      team.start([&, i] { pass.work(workers[i], i == 0, team); });
    std::unique_lock lock(team.mutex());
    team.wait(lock, [] { return false; });
    lock.unlock();
    team.rethrow();
  }
  int64_t batches = 0;
  for (const Worker& w : workers) batches += w.batches;
  return batches;
}

int64_t ordered_pass(std::vector<NextBatch> sources, const TakeStep& step,
                     const PassOptions& options) {
  int64_t batches = 0;
  BatchQueue queue(std::move(sources), options.stop_reading);
  for (Batch batch; queue.next(batch);) {
    const Plan& plan = step(batch, queue.following());
    if (fetches_after(++batches, options)) give_fetches(plan, options);
  }
  return batches;
}

}  // namespace paddle
