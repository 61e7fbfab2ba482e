// Which lost updates a trainer logs: for each shard the slice that lacks most of them, whenever it
// lacks more than was logged of that shard before. Pure bookkeeping.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace paddle {

class LostReport {
 public:
  struct Line {
    size_t slice = 0;            // its place in the list of lost()
    uint64_t more = 0, all = 0;  // since the line before, and since the beginning
  };
  // `lost` by slice; shard_of(slice) is its shard.
  template <class ShardOf>
  std::vector<Line> take(std::span<const uint64_t> lost, const ShardOf& shard_of) {
    std::vector<Line> most;  // by shard
    for (size_t i = 0; i < lost.size(); ++i) {
      const size_t shard = shard_of(i);
      if (shard >= most.size()) most.resize(shard + 1);
      if (lost[i] > most[shard].all) most[shard] = {i, 0, lost[i]};
    }
    logged_.resize(std::max(logged_.size(), most.size()));
    std::vector<Line> out;
    for (size_t shard = 0; shard < most.size(); ++shard) {
      Line line = most[shard];
      if (line.all <= logged_[shard]) continue;
      line.more = line.all - logged_[shard];
      logged_[shard] = line.all;
      out.push_back(line);
    }
    return out;
  }

 private:
  std::vector<uint64_t> logged_;  // by shard
};

}  // namespace paddle
