// Geo: every trainer updates its own copy of the parameters, and every few steps adds what it has
// changed, divided by the number of trainers, to the shards' copy and takes the others' changes
// over.
#pragma once

#include "trainer/exchange.h"

namespace paddle {

class GeoExchange : public ParamExchange {
 public:
  GeoExchange(const SliceLayout& layout, const ExchangeOptions& options, ShardSender& out);

  bool may_read(int32_t) const override { return true; }
  void push(int32_t, const std::byte*) override {}  // gradients stay here
  bool end_step() override;
  bool finish(const StepRange& end) override;
  void begin_step(const StepRange& range) override;
  // What was made here since is not in it.
  const std::byte* shard_copy(uint32_t slice) const override;
  bool settled(uint64_t) const override { return none_awaited(); }

 protected:
  std::byte* target(uint32_t id) override;
  void group_arrived(uint32_t group) override;
  uint64_t rejoin(uint64_t step) override;
  wire::Bytes sent(uint32_t id, StepRange& range) const override;

 private:
  struct Buffers {
    std::vector<float> sending, incoming;
    std::vector<float> old;  // the shards' copy, as far as this trainer knows
  };
  void exchange();

  const float trainers_;
  const uint64_t steps_;
  std::vector<Buffers> buffers_;  // by group
  // What arrives replaces the values here; else it is added to what was made here since.
  bool replaces_ = true;
  StepRange sent_;
};

}  // namespace paddle
