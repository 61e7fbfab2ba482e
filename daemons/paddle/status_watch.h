// Asks a shard once a second how far the trainers are, in a thread of its own: a pserver that does
// not answer holds nobody up.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "paddle/shard_status.h"

namespace paddle {

class StatusWatch {
 public:
  // `shard` is "host:port". The thread leaves signals to the others.
  explicit StatusWatch(std::string shard);
  ~StatusWatch();  // ends the thread
  StatusWatch(const StatusWatch&) = delete;
  StatusWatch& operator=(const StatusWatch&) = delete;

  // What came since the last call; empty where nothing did.
  std::vector<TrainerStatus> take();

 private:
  void run();

  const std::string shard_;
  std::mutex mutex_;
  std::condition_variable end_;
  bool ends_ = false;
  std::vector<TrainerStatus> news_;
  std::thread thread_;  // last: starts when the rest is there
};

}  // namespace paddle
