// Sync and half-async: a gradient is pushed once per step, from the memory it lies in, and its
// answer is awaited before the next step reads the parameter. A step that broke is computed again.
// The two differ in one thing: in sync the answer is the version that all trainers made together.
#pragma once

#include "trainer/exchange.h"

namespace paddle {

class RoundExchange : public ParamExchange {
 public:
  RoundExchange(const SliceLayout& layout, bool sync, ShardSender& out);

  void begin_step(const StepRange& range) override;
  bool may_read(int32_t param) const override;
  // Once every parameter has the version of this step. A shard may then reuse the memory of the
  // version before it: no trainer asks for that one any more.
  bool may_push() const override { return pushed_ || settled(range_.step); }
  Remote::ReadUntil read_until(int32_t) const override { return Remote::ReadUntil::pulled; }
  void push(int32_t param, const std::byte* grad) override;
  bool settled(uint64_t step) const override;

 protected:
  uint64_t rejoin(uint64_t step) override { return sync_ ? step : 0; }

 private:
  const bool sync_;
  bool pushed_ = false;                          // in this step
  std::vector<uint32_t> made_;                   // gradients of each group in this step
  std::vector<std::vector<std::byte>> buffers_;  // of groups of several slices: their gradients
};

}  // namespace paddle
