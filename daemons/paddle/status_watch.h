// What has happened to a job, as two looks at its shards show it: for those who have no events of
// its processes. Pure: looks go in, lines of the live page come out.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "obs/shard_status.h"

namespace paddle {

// What of a job its shards are asked for.
struct Watching {
  bool progress = false;                  // of trainers, for those who have no events of them
  uint32_t first_own = 0, after_own = 0;  // but not of these: their events are there
  // Where this machine perhaps cannot reach them: nothing is said before one has answered.
  bool perhaps_out_of_reach = false;
};

class StatusWatch {
 public:
  explicit StatusWatch(const Watching& what) : what_(what) {}

  // JSON lines like events: `observed` with a kind and a sentence, and `progress`. `time` in
  // seconds since 1970.
  std::vector<std::string> take(const std::vector<ShardStatus>& shards, double time);
  // Whether the state of the shards is worth showing.
  bool reached() const { return reached_ || !what_.perhaps_out_of_reach; }

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

  bool asks_for(uint32_t trainer) const {
    return what_.progress && (trainer < what_.first_own || trainer >= what_.after_own);
  }

  const Watching what_;
  bool reached_ = false;
  double time_ = 0;
  std::vector<std::string> out_;
  std::map<std::string, Shard> shards_;  // by endpoint
  std::map<uint32_t, Trainer> trainers_;
  uint64_t epoch_ = 0, snapshot_ = 0;
};

}  // namespace paddle
