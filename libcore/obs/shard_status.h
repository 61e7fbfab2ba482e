// The state of a job's shards as values, and as JSON: what `paddle status --json` prints for all of
// them, a pserver answers for its own under /status.
#pragma once

#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "wire/messages.h"

namespace paddle {

using wire::MemberStatus;
using wire::SliceStatus;

// What a shard reports; only endpoint, sparse and problem where it did not answer.
struct ShardStatus : wire::Status {
  std::string endpoint;
  std::string problem;  // why there is no answer; "" where there is one

  bool answered() const { return problem.empty(); }
};

// One JSON object in one line, with a newline.
std::string status_json(std::span<const ShardStatus> shards);

// The trainers over all shards: numbers added up or the largest, states that differ joined by '/'.
std::vector<MemberStatus> trainers_of(std::span<const ShardStatus> shards);

// The last report of each shard of a process: their threads put them here, another one reads.
class ShardBoard {
 public:
  explicit ShardBoard(size_t shards);

  void set_endpoint(size_t shard, const std::string& endpoint);
  void put(size_t shard, wire::Status status, Time now);
  // Shards without a report so far have a problem.
  std::vector<ShardStatus> all() const;
  // "" while every shard has reported within so many seconds; else a sentence.
  std::string silent(double seconds, Time now) const;

 private:
  mutable std::mutex mutex_;
  std::vector<ShardStatus> shards_;
  std::vector<Time> heard_;  // Time{}: never
};

}  // namespace paddle
