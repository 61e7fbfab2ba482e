// What the shards answered to the last heartbeats.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/clock.h"
#include "wire/messages.h"

namespace paddle {

// They answer every beat, and also report at once when a trainer finishes.
struct ShardNews {
  uint64_t instance = 0;  // of one shard: as its Welcome said
  uint64_t epoch = 0;     // the newest that any of them is in
  std::string waiting;    // whom a shard waits for; "" for nobody
  std::string failure;    // why the job ended
  uint32_t finished = 0;  // least number of trainers that any shard knows to have finished
  bool saved = false;     // a shard knows that trainer 0 has saved and left
  bool result = false;    // a shard knows that the job computes no more steps
  uint32_t left = 0;      // greatest number of trainers that a shard knows to have left
  Time heard{};           // of one shard: when it answered last
};

ShardNews news_of(wire::BeatAck ack, Time now);
// Of all shards together. What a process said that is not the present one (`instances`) does not
// count; whom a shard waits for is left out where that is old.
ShardNews merged(std::span<const ShardNews> shards, std::span<const uint64_t> instances, Time now);

}  // namespace paddle
