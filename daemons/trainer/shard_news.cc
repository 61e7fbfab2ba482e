#include "trainer/shard_news.h"

#include <algorithm>
#include <utility>

namespace paddle {
namespace {

constexpr double fresh_seconds = 3;  // a shard answers once a second

}  // namespace

ShardNews news_of(wire::BeatAck ack, Time now) {
  return {.instance = ack.instance,
          .epoch = ack.epoch,
          .waiting = std::move(ack.waiting),
          .failure = std::move(ack.failure),
          .finished = ack.finished,
          .saved = ack.saved,
          .result = ack.result,
          .left = ack.left,
          .heard = now};
}

ShardNews merged(std::span<const ShardNews> shards, std::span<const uint64_t> instances, Time now) {
  ShardNews out;
  if (!shards.empty()) out.finished = ~uint32_t{0};
  for (const ShardNews& n : shards) out.epoch = std::max(out.epoch, n.epoch);
  for (size_t i = 0; i < shards.size(); ++i) {
    const ShardNews& n = shards[i];
    if (out.waiting.empty() && seconds(n.heard, now) < fresh_seconds) out.waiting = n.waiting;

    // Else it is about the time before a rollback, or before the pserver started again.
    const bool same_process = n.instance == instances[i];
    const bool present = n.epoch == out.epoch && same_process;
    if (out.failure.empty() && same_process) out.failure = n.failure;
    out.finished = std::min(out.finished, present ? n.finished : 0);
    out.saved = out.saved || (present && n.saved);
    out.result = out.result || (present && n.result);
    if (present) out.left = std::max(out.left, n.left);
  }
  return out;
}

}  // namespace paddle
