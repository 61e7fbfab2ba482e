// Async: at most one push of a group is on its way; gradients that are made meanwhile are merged
// and sent with the next one. Nothing waits for an answer: values are used as they arrive, also
// while a step is computed, so a parameter may be newer in the backward pass than it was in the
// forward pass. A gradient is never computed again: what a shard lacks after a break is sent again.
//
// To merge, a group needs memory for what is on its way and for what waits. Where there is none for
// both (ExchangeOptions::merge_memory, which small groups get first), the trainer waits for the
// answer before it computes the next gradient. A slice that is such a group is sent from the
// gradient's own memory.
#pragma once

#include "trainer/exchange.h"

namespace paddle {

class AsyncExchange : public ParamExchange {
 public:
  AsyncExchange(const SliceLayout& layout, const ExchangeOptions& options, ShardSender& out);

  bool may_begin() const override { return full_ == 0; }
  void begin_step(const StepRange& range) override;
  bool may_read(int32_t) const override { return true; }
  bool has_place(int32_t param) const override;
  Remote::ReadUntil read_until(int32_t param) const override;
  void push(int32_t param, const std::byte* grad) override;
  bool settled(uint64_t) const override { return none_awaited() && waiting_ == 0; }

 protected:
  void group_arrived(uint32_t group) override;
  uint64_t rejoin(uint64_t) override { return 0; }
  wire::Bytes sent(uint32_t id, StepRange& range) const override;

 private:
  // Memory is taken when it is first needed: `waiting` by the first gradient that has to wait.
  struct Buffers {
    std::vector<float> sending, waiting;
    bool merges = false;        // there is memory for both
    bool in_place = false;      // sent from the gradient's own memory, without any of these
    wire::Bytes bulk;           // that was sent last: `sending`, or the gradient
    uint64_t step = 0;          // whose gradients are being made
    uint32_t made = 0;          // slices whose gradient of that step is there
    bool into_sending = false;  // these go straight into `sending`
    uint64_t merged = 0;        // steps in `waiting`
    StepRange last;             // the last of them
    StepRange sent;             // of `bulk`: the last step in it
    bool on_its_way = false;    // `bulk` was not answered yet
  };
  void divide_memory(uint64_t memory);
  void collect(Buffers& b, const SliceLayout::Slice& slice, const float* grad);
  void send(uint32_t group);
  void send_waiting(uint32_t group);

  const uint64_t queue_size_;
  const bool merge_mean_;
  std::vector<Buffers> buffers_;   // by group
  std::vector<uint64_t> handed_;   // by slice: steps whose gradient was pushed
  size_t waiting_ = 0, full_ = 0;  // groups with merged gradients; with as many as are allowed
};

}  // namespace paddle
