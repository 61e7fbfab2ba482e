// When a slice, or a part of a table, is updated. Sync: rounds, in which the gradients of all
// trainers are added up in the order of trainer ids; a gradient that comes ahead of its turn waits
// in the pool. Otherwise: on arrival. Pure logic over the store: nothing is sent but answers to
// those who wait.
#pragma once

#include <cstdint>
#include <vector>

#include "pserver/members.h"
#include "pserver/snapshot_maker.h"
#include "pserver/store.h"
#include "pserver/waits.h"

namespace paddle {

class Rounds {
 public:
  Rounds(Store& store, Members& members, Waits& waits, SnapshotMaker& maker);

  // Nobody with a lower id is waited for.
  bool in_turn(const Versioned& slice, uint32_t trainer) const {
    return trainer <= rounds_[slice.info().place].turn;
  }
  // The first gradient of a round may land in the slice itself: lent until contribute() or
  // return_spare(). Where nobody else is waited for, and the update allows it, the gradient is used
  // while it comes in (Slice::early); the round then closes with it, without anybody who joins
  // meanwhile.
  bool spare_free(const Slice& slice) const {
    return slice.summed() == 0 && !rounds_[slice.info().place].spare_lent;
  }
  std::span<std::byte> lend_spare(Slice& slice, uint32_t trainer);
  void return_spare(Slice& slice);  // may close the round; throws as close() does

  // A whole gradient without NaN: it lies in the lent spare buffer where its data is null, else in
  // `buffer` of the pool (none where it has no bytes), which is used on where the gradient has to
  // wait. close() comes next.
  void contribute(Versioned& part, Member& member, const Gradient& grad,
                  GradientPool::Handle buffer, Time now);
  // Closes the round where nobody is missing. Throws Error where the update cannot be run.
  void close(Versioned& slice);
  // Rounds wait for others than before: closes those that wait for nobody now.
  void members_changed();

  // Async and half-async: updates now; geo: adds the difference. The gradient may be changed. False
  // where that would make NaN or Inf: then nothing has changed. Throws as Slice::apply() does.
  bool apply(Versioned& slice, Member& member, uint64_t steps, const Gradient& grad, bool geo);

  std::vector<uint32_t> missing(const Versioned& slice) const;
  bool open(const Versioned& slice) const;
  // The first round that somebody who joins now can take part in.
  uint64_t next_round(const Versioned& slice) const {
    return slice.version() + (rounds_[slice.info().place].sealed ? 1 : 0);
  }
  // Nothing was contributed, and nobody has to.
  bool abandoned(const Versioned& slice) const;
  Time begun(const Versioned& slice) const;
  uint64_t lowest_version() const { return lowest_; }
  uint64_t highest_version() const { return highest_; }

  GradientPool& pool() { return pool_; }
  // Whether a turn has moved or a buffer became free since the last call.
  bool take_moved() { return std::exchange(moved_, false); }
  void buffer_freed() { moved_ = true; }

 private:
  static constexpr uint32_t nobody = ~uint32_t{0};
  struct Parked {
    uint32_t trainer;
    GradientPool::Handle buffer;
    Gradient grad;
  };
  struct Round {
    uint32_t turn = 0;   // the first trainer that is required and has not contributed
    size_t turn_at = 0;  // its place among the members
    bool spare_lent = false;
    bool sealed = false;         // closes with the gradient that lies, or lands, in the slice
    Time begun{};                // first contribution
    std::vector<Parked> parked;  // rising by trainer: whole, and ahead of their turn
  };
  void find_turn(const Versioned& slice, size_t from);
  bool may_seal(const Slice& slice, uint32_t trainer);
  void drop_parked(const Versioned& slice);
  void leave_turn_region(const Versioned& slice);
  void add_parked(Versioned& slice);
  void advanced(const Versioned& slice);

  Store& store_;
  Members& members_;
  Waits& waits_;
  SnapshotMaker& maker_;
  GradientPool pool_;
  std::vector<Round> rounds_;
  uint64_t lowest_ = 0, highest_ = 0;
  size_t at_lowest_ = 0;  // slices
  bool moved_ = false;
};

}  // namespace paddle
