// Which shard has the row of an id.
#pragma once

#include <cstdint>

#include "base/random.h"

namespace paddle {

// In [0, shards). Not the hash that orders rows inside a table: the ids of one shard must fill all
// segments of its table.
inline uint32_t shard_of(uint64_t id, uint32_t shards) {
  const uint64_t hash = mix64(id ^ 0x5bd1e9955bd1e995ull) >> 32;
  return static_cast<uint32_t>(hash * shards >> 32);
}

}  // namespace paddle
