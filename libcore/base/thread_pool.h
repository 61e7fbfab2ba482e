// A fixed set of threads for loops over independent parts. One pool per process: ours; libraries
// run single-threaded beneath it, so that two pools never fight for the cores.
#pragma once

#include <cstdint>
#include <memory>

namespace paddle {

class ThreadPool {
 public:
  // `threads` counts the caller: 1 means that every loop runs inline.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }

  // Calls body(begin, end) on disjoint ranges that cover [0, n), at most one per thread and none
  // shorter than `grain` (but the last). Returns when all are done; the first exception thrown is
  // rethrown here. The split depends only on (n, grain, threads), so results that depend on it
  // repeat. One caller at a time.
  template <class Body>
  void parallel_for(int64_t n, int64_t grain, const Body& body) {
    if (threads_ == 1 || n <= grain) {
      if (n > 0) body(int64_t{0}, n);
    } else {
      run(n, grain, &body, [](const void* given, int64_t begin, int64_t end) {
        (*static_cast<const Body*>(given))(begin, end);
      });
    }
  }

 private:
  struct State;
  // A plain function rather than std::function: every loop of every op makes one, and a build has
  // thousands of them to compile.
  using Call = void (*)(const void* body, int64_t begin, int64_t end);
  void run(int64_t n, int64_t grain, const void* body, Call call);

  int threads_;
  std::unique_ptr<State> state_;
};

// Denormal numbers cost 8 to 130 times a normal operation and carry no information in training:
// flush them to zero in the calling thread. Every thread that computes calls this once.
void flush_denormals();

}  // namespace paddle
