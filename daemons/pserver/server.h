// The shards of one process, each with its port and its thread.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/descriptor.h"
#include "base/service_manager.h"
#include "options/options.h"
#include "pserver/service.h"

namespace paddle {

// The options that all shards of a process share, and the memory that they share; index, port and
// the like are the caller's.
ShardOptions shard_options(const Options& options);

class Server {
 public:
  // Takes all ports before the first one serves. Throws Error(config). The manager, if any, hears
  // that the shards are alive and when they stop; it outlives this.
  explicit Server(std::vector<ShardOptions> shards, ServiceManager* manager = nullptr);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // "dense 127.0.0.1:7164\n" for each shard. An empty host is written 0.0.0.0.
  std::string lines() const;
  // Says on which ports it listens: "Server listening on HOST:PORT".
  void announce() const;
  uint16_t port(size_t shard) const { return shards_[shard]->port(); }

  // Serves until a signal (stop_signal()), stop(), or the end of the job where all dense shards
  // shall exit then; all shards have ended cleanly when it returns. What an interrupt check
  // throws, and what a shard throws, is thrown on then. To be called once.
  void serve();
  // From any thread.
  void stop();
  // After serve(): why the job failed, "" where it did not.
  std::string failure() const;

 private:
  void run(Service& service);
  void wait();
  void end();

  ServiceManager* const manager_;
  Descriptor event_;  // raised by threads for the one in serve()
  std::vector<bool> sparse_;
  std::vector<std::string> hosts_;
  std::vector<std::unique_ptr<Service>> shards_;
  std::vector<std::thread> threads_;
  size_t dense_ = 0;
  std::atomic<size_t> done_ = 0;
  std::atomic<bool> failed_ = false, asked_ = false;
  std::exception_ptr problem_;  // read after the threads have ended
};

}  // namespace paddle
