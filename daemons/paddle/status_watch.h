// What has happened to a job, as two looks at its shards show it: for those who have no events of
// its processes. Pure: looks go in, lines of the live page come out.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "obs/shard_status.h"

namespace paddle {

class StatusWatch {
 public:
  // Without events, the progress of trainers is reported too.
  explicit StatusWatch(bool with_progress) : with_progress_(with_progress) {}

  // JSON lines like events: `observed` with a kind and a sentence, and `progress`. `time` in
  // seconds since 1970.
  std::vector<std::string> take(const std::vector<ShardStatus>& shards, double time);

 private:
  struct Shard {
    bool seen = false, answered = false;
    uint64_t instance = 0;
  };
  struct Trainer {
    std::string state;
    uint64_t step = 0;
  };
  void look_at_shards(const std::vector<ShardStatus>& shards);
  void look_at_job(const std::vector<ShardStatus>& shards);
  void look_at_trainers(const std::vector<ShardStatus>& shards);
  void report_progress(const MemberStatus& trainer);
  void observed(const char* kind, const std::string& sentence);

  const bool with_progress_;
  double time_ = 0;
  std::vector<std::string> out_;
  std::map<std::string, Shard> shards_;  // by endpoint
  std::map<uint32_t, Trainer> trainers_;
  uint64_t epoch_ = 0, snapshot_ = 0;
};

}  // namespace paddle
