// Which values of a whole program a shard keeps: rows of parameters and of their optimizer state,
// and what all shards share.
#pragma once

#include <string>
#include <vector>

#include "graph/transpile.h"
#include "tensor/scope.h"

namespace paddle {

// A variable of a shard, with its part of the whole value; shares the memory of the scope.
struct ShardValue {
  std::string name;  // in the shard's program
  Tensor tensor;
};

enum class MissingValue { error, skip };

// Slices and their optimizer state. Where the scope has no value: Error(config), or left out.
std::vector<ShardValue> slice_values(const Cut& cut, size_t shard, const Scope& scope,
                                     MissingValue missing = MissingValue::error);
// What all slices of a shard share: learning rates, the step counter.
std::vector<ShardValue> shared_values(const Cut& cut, size_t shard, const Scope& scope,
                                      MissingValue missing = MissingValue::error);
// Both: all that the shard keeps.
std::vector<ShardValue> shard_values(const Cut& cut, size_t shard, const Scope& scope,
                                     MissingValue missing = MissingValue::error);

// The variables of the whole program that these values come from, each once.
Names shard_sources(const Cut& cut, size_t shard);

}  // namespace paddle
