// One slice of a parameter as a shard keeps it: values, the version before them, room for one
// gradient of every trainer, and who has contributed to the round that is open. Belongs to the
// shard's thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pserver/update.h"

namespace paddle {

struct SliceInfo {
  uint32_t id = 0;         // in the whole cut
  std::string name, grad;  // variables of the shard's program
  int32_t block = 0;       // that updates it
  size_t place = 0;        // among the slices of the shard
};

struct SliceOptions {
  uint32_t trainers = 1;
  bool keeps_previous = true;  // sync: version - 1 stays readable
  bool may_lower = true;       // false: the update runs as a plan even where a rule would do
};

class Slice {
 public:
  // The variable `info.name` and the state of its update are in the scope, with their shapes.
  // Throws Error(config) for a block that cannot be run.
  Slice(SliceInfo info, const Program& program, Scope& scope, ThreadPool& pool,
        const SliceOptions& options);

  const SliceInfo& info() const { return info_; }
  size_t bytes() const { return variable_.tensor.bytes(); }
  bool lowered() const { return update_.lowered(); }
  // Values and state: the variables that a snapshot of this slice holds.
  const Names& state() const { return update_.variables(); }

  uint64_t version() const { return version_; }
  std::span<const std::byte> values() const { return bytes_of(variable_.tensor); }
  // Of version() - 1; empty where there are none.
  std::span<const std::byte> previous() const {
    return has_previous_ ? bytes_of(other_) : std::span<const std::byte>{};
  }

  // Where the gradient of a trainer lands.
  std::span<std::byte> inbox(uint32_t trainer) const { return bytes_of(inboxes_[trainer]); }
  // Whether these bytes of it, whole elements, are free of NaN and Inf.
  bool finite(uint32_t trainer, size_t first, size_t bytes) const;
  bool finite(uint32_t trainer) const { return finite(trainer, 0, bytes()); }

  // Sync: the gradient of a trainer for the open round is in its inbox.
  void contribute(uint32_t trainer);
  bool contributed(uint32_t trainer) const { return contributed_[trainer]; }
  uint32_t contributors() const { return contributors_; }
  // The average of all contributions makes the next version.
  void close_round();

  // Async: the gradient, or geo: the difference, in the inbox makes the next version at once.
  void apply(uint32_t trainer);
  void add(uint32_t trainer);
  // Async: steps of a trainer that are in the values.
  uint64_t steps_of(uint32_t trainer) const { return steps_[trainer]; }
  void set_steps(uint32_t trainer, uint64_t steps) { steps_[trainer] = steps; }

  // The values in the scope are now those of `version`; nobody has contributed yet.
  void restart(uint64_t version);

 private:
  static std::span<std::byte> bytes_of(const Tensor& t) {
    return {static_cast<std::byte*>(t.raw()), t.bytes()};
  }
  void advance(std::span<const void* const> grads);

  SliceInfo info_;
  Variable& variable_;
  Update update_;
  bool keeps_previous_, has_previous_ = false;
  Tensor other_;  // the version before, or room for the next one
  uint64_t version_ = 0;
  std::vector<Tensor> inboxes_;
  std::vector<bool> contributed_;
  uint32_t contributors_ = 0;
  std::vector<uint64_t> steps_;
  std::vector<const void*> grads_;
};

}  // namespace paddle
