// Work that the system may never finish (a name that no server answers for, a directory on a file
// server that is gone), done aside so that nobody waits longer than they want to.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace paddle {

template <class T>
class Aside {
 public:
  // `work` must own all that it uses: its thread may outlive this object, and ends with the
  // process.
  explicit Aside(std::function<T()> work) : shared_(std::make_shared<Shared>()) {
    std::thread([shared = shared_, work = std::move(work)] {
      T result = work();
      const std::lock_guard lock(shared->mutex);
      shared->result.emplace(std::move(result));
      shared->done.notify_all();
    }).detach();
  }

  // The result; nothing where there is none by then.
  std::optional<T> by(std::chrono::steady_clock::time_point deadline) {
    std::unique_lock lock(shared_->mutex);
    shared_->done.wait_until(lock, deadline, [this] { return shared_->result.has_value(); });
    return shared_->result;
  }

 private:
  struct Shared {
    std::mutex mutex;
    std::condition_variable done;
    std::optional<T> result;
  };
  std::shared_ptr<Shared> shared_;  // with the thread
};

}  // namespace paddle
