// Async: at most one push of a group is on its way; gradients that are made meanwhile are merged
// and sent with the next one. Nothing waits for an answer: values are used as they arrive, also
// while a step is computed, so a parameter may be newer in the backward pass than it was in the
// forward pass. A gradient is never computed again: what a shard lacks after a break is sent again.
#pragma once

#include "trainer/exchange.h"

namespace paddle {

class AsyncExchange : public ParamExchange {
 public:
  AsyncExchange(const SliceLayout& layout, const ExchangeOptions& options, ShardSender& out);

  bool may_begin() const override { return full_ == 0; }
  void begin_step(const StepRange& range) override;
  bool may_read(int32_t) const override { return true; }
  void push(int32_t param, const std::byte* grad) override;
  bool settled(uint64_t) const override { return none_awaited() && waiting_ == 0; }

 protected:
  void group_arrived(uint32_t group) override;
  uint64_t rejoin(uint64_t step) override;
  wire::Bytes sent(uint32_t id, StepRange& range) const override;

 private:
  // Memory is taken when it is first needed: `waiting` by the first gradient that has to wait.
  struct Buffers {
    std::vector<float> sending, waiting;
    uint32_t made = 0;          // slices whose gradient of this step is there
    bool into_sending = false;  // these go straight into `sending`
    uint64_t merged = 0;        // steps in `waiting`
    StepRange last;             // the last of them
    StepRange sent;             // of `sending`: the last step in it
    bool on_its_way = false;    // `sending` was not answered yet
  };
  void collect(Buffers& b, const SliceLayout::Slice& slice, const float* grad);
  void send(uint32_t group);
  void send_waiting(uint32_t group);

  const uint64_t queue_size_;
  const bool merge_mean_;
  std::vector<Buffers> buffers_;   // by group
  size_t waiting_ = 0, full_ = 0;  // groups with merged gradients; with as many as are allowed
};

}  // namespace paddle
