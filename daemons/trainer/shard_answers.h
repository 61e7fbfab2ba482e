// What the shards answered to the present greetings of a trainer.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trainer/ps_join.h"
#include "trainer/value_origins.h"

namespace paddle {

class ShardAnswers {
 public:
  explicit ShardAnswers(size_t shards) : shards_(shards) {}

  size_t size() const { return shards_.size(); }
  void forget() {
    for (Shard& s : shards_) s.welcome.reset();
  }
  void forget(size_t shard) { shards_[shard].welcome.reset(); }
  void set(size_t shard, wire::Welcome welcome) { shards_[shard].welcome = std::move(welcome); }
  // It is not reached, or failed.
  void set_error(size_t shard, std::string why) { shards_[shard].error = std::move(why); }

  const std::optional<wire::Welcome>& of(size_t shard) const { return shards_[shard].welcome; }
  const std::string& error(size_t shard) const { return shards_[shard].error; }
  // The first of the first `count` shards that has not answered; size() where all have.
  size_t first_missing(size_t count) const {
    for (size_t i = 0; i < count; ++i)
      if (!shards_[i].welcome) return i;
    return shards_.size();
  }
  // Where the values of the shard are from.
  ShardValues values(size_t shard) const {
    const auto& w = shards_[shard].welcome;
    return w ? ShardValues{w->instance, w->base, w->origins} : ShardValues{};
  }
  // What they said of the slices, by id. Of a slice that no shard mentioned nothing is sent again.
  std::vector<wire::SliceState> slices(size_t count, uint64_t first_step) const {
    std::vector<wire::SliceState> out(count, {.last_step = ~uint64_t{0}});
    for (const Shard& s : shards_)
      if (s.welcome)
        for (const wire::SliceState& slice : s.welcome->slices)
          if (slice.slice < out.size()) {
            out[slice.slice] = slice;
            out[slice.slice].last_step = std::max(slice.last_step, first_step);
          }
    return out;
  }

 private:
  struct Shard {
    std::optional<wire::Welcome> welcome;  // of the present connection
    std::string error = "not greeted yet";
  };
  std::vector<Shard> shards_;
};

}  // namespace paddle
