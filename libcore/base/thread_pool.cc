#include "base/thread_pool.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace paddle {

struct ThreadPool::State {
  std::mutex mutex;
  std::condition_variable work_ready, work_done;
  const void* body = nullptr;
  Call call = nullptr;
  int64_t n = 0, part = 0;
  uint64_t generation = 0;  // counts loops, so that a worker takes part in each exactly once
  int pending = 0;
  bool stop = false;
  std::exception_ptr failure;
  std::vector<std::thread> workers;

  void run_part(int index) {
    const int64_t begin = index * part, end = std::min(n, begin + part);
    if (begin >= end) return;
    try {
      call(body, begin, end);
    } catch (...) {
      std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  }

  void serve(int index) {
    flush_denormals();
    uint64_t seen = 0;
    std::unique_lock lock(mutex);
    for (;;) {
      work_ready.wait(lock, [&] { return stop || generation != seen; });
      if (stop) return;
      seen = generation;
      lock.unlock();
      run_part(index);
      lock.lock();
      if (--pending == 0) work_done.notify_one();
    }
  }
};

ThreadPool::ThreadPool(int threads) : threads_(std::max(1, threads)) {
  if (threads_ == 1) return;
  state_ = std::make_unique<State>();
  for (int i = 1; i < threads_; ++i) state_->workers.emplace_back([this, i] { state_->serve(i); });
}

ThreadPool::~ThreadPool() {
  if (!state_) return;
  {
    std::lock_guard lock(state_->mutex);
    state_->stop = true;
  }
  state_->work_ready.notify_all();
  for (std::thread& t : state_->workers) t.join();
}

void ThreadPool::run(int64_t n, int64_t grain, const void* body, Call call) {
  State& s = *state_;
  const int64_t parts = std::clamp<int64_t>(n / std::max<int64_t>(1, grain), 1, threads_);
  {
    std::lock_guard lock(s.mutex);
    s.body = body;
    s.call = call;
    s.n = n;
    s.part = (n + parts - 1) / parts;
    s.pending = threads_ - 1;
    s.failure = nullptr;
    ++s.generation;
  }
  s.work_ready.notify_all();
  s.run_part(0);
  std::unique_lock lock(s.mutex);
  s.work_done.wait(lock, [&] { return s.pending == 0; });
  if (s.failure) std::rethrow_exception(s.failure);
}

void flush_denormals() {
#if defined(__SSE__)
  _mm_setcsr(_mm_getcsr() | 0x8040);  // FTZ | DAZ
#endif
}

}  // namespace paddle
