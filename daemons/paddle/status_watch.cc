#include "paddle/status_watch.h"

#include <signal.h>

#include <utility>

namespace paddle {
namespace {

constexpr auto period = std::chrono::seconds(1);
constexpr double answer_seconds = 0.5;

}  // namespace

StatusWatch::StatusWatch(std::string shard)
    : shard_(std::move(shard)), thread_([this] { run(); }) {}

StatusWatch::~StatusWatch() {
  {
    const std::scoped_lock lock(mutex_);
    ends_ = true;
  }
  end_.notify_one();
  thread_.join();
}

std::vector<TrainerStatus> StatusWatch::take() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(news_, {});
}

void StatusWatch::run() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  std::unique_lock lock(mutex_);
  while (!end_.wait_for(lock, period, [this] { return ends_; })) {
    lock.unlock();
    std::vector<ShardStatus> answers = ask_shards({.dense = {shard_}}, answer_seconds);
    lock.lock();
    news_ = std::move(answers[0].trainers);
  }
}

}  // namespace paddle
