// One slice of a parameter as a shard keeps it: its values, and in sync training a second buffer.
// That buffer holds the version before the values until the first gradient of the open round comes;
// from then on it holds the sum of the round's gradients, and when the round closes the new values
// are written over the sum and both change places. Belongs to the shard's thread.
//
// Nobody misses the version before: a trainer pushes step t only when it has version t of all
// parameters, so all rounds of step t-1 are closed everywhere, and whoever restarts needs t.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "pserver/update.h"
#include "pserver/versioned.h"

namespace paddle {

// A smaller gradient is still in the cache when it is whole.
inline constexpr size_t early_bytes = 32u << 10;

struct SliceOptions {
  bool sync = true;       // rounds, and two versions
  bool may_lower = true;  // false: the update runs as a plan even where a rule would do
  PlanOptions plan = {};  // of updates that run as one
};

class Slice final : public Versioned {
 public:
  // The variable `info.name` and the state of its update are in the scope, with their shapes.
  // `scratch` as for Update. Throws Error(config) for a block that cannot be run.
  Slice(SliceInfo info, const Program& program, Scope& scope, ThreadPool& pool, Tensor& scratch,
        const SliceOptions& options);

  size_t bytes() const override { return bytes_; }
  bool lowered() const override { return update_.lowered(); }
  // Values and state: the variables that a snapshot of this slice holds.
  const Names& state() const { return update_.variables(); }

  bool has_previous() const override { return has_previous_; }
  std::optional<uint64_t> gradient_bytes(uint32_t rows) const override {
    return rows == 0 ? std::optional<uint64_t>(bytes_) : std::nullopt;
  }
  double largest_in(const Gradient& grad) override { return largest(grad.data, bytes_); }
  void contribute(const Gradient& grad) override { add_to_sum(grad.data); }
  bool update(const Gradient& grad, bool geo) override {
    return geo ? add(grad.data, grad.largest) : apply(grad.data, grad.largest);
  }

  std::span<const std::byte> values() const { return bytes_of(variable_.tensor); }
  // Of version() - 1; empty where there are none.
  std::span<const std::byte> previous() const {
    return has_previous_ ? bytes_of(spare_) : std::span<const std::byte>{};
  }
  // The largest absolute value in these bytes, whole elements of a gradient; Inf where there is
  // NaN.
  double largest(const std::byte* grad, size_t bytes) const;

  // Sync: where the first gradient of the round lands. The version before is gone after this.
  std::span<std::byte> take_spare();
  // Sync: the first gradient is in the spare buffer.
  void begin_sum() { summed_ = 1; }
  // Sync, a round of one gradient, after take_spare(): its values can be made of the gradient while
  // it comes in, where its update allows it. The slice's own values stay as they are until
  // close_round(), so a gradient that breaks off leaves nothing behind.
  bool can_make_early() const { return sync_ && bytes_ >= early_bytes && update_.by_element(); }
  void begin_early();
  bool early() const { return early_; }
  // Bytes [begin, end) of the gradient are in the spare buffer: whole elements, in order. False
  // where one of them is NaN or Inf, or makes such a value: then the gradient cannot be used.
  bool make_early(size_t begin, size_t end);
  // Sync: adds a gradient, in the order of trainers; the first one is copied.
  void add_to_sum(const std::byte* grad);
  // Throws Error(numeric) where the next version would hold NaN or Inf.
  void close_round() override;

  // Async: a gradient, which may be changed, or geo: a difference, makes the next version at once.
  // `largest` as above. False where that would hold NaN or Inf: then nothing has changed. Where an
  // update has state, or is not lowered, this is seen too late, and Error(numeric) is thrown.
  bool apply(std::byte* grad, double largest);
  bool add(const std::byte* difference, double largest);

  // The values in the scope are now those of `version`.
  void restart(uint64_t version) override;

 private:
  [[noreturn]] void fail_infinite(uint32_t gradients) const;
  static std::span<std::byte> bytes_of(const Tensor& t) {
    return {static_cast<std::byte*>(t.raw()), t.bytes()};
  }

  Variable& variable_;
  Update update_;
  size_t bytes_;
  bool sync_, has_previous_ = false;
  bool early_ = false;  // since take_spare() the gradient is replaced by new values as it comes in
  Tensor spare_;        // the version before, or the sum
  Tensor mean_;         // sync: for an update that is not lowered, which needs the sum beside both
  double bound_ = std::numeric_limits<double>::infinity();  // async: no value is above it
};

}  // namespace paddle
