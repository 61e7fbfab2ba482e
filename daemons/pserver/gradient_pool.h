// Memory for gradients that cannot land in their slice: those that are ahead of their turn, those
// that are added to a sum, groups of small ones. Bounded; two regions, so that gradients that wait
// for their turn never take the place of one whose turn it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "base/byte_budget.h"

namespace paddle {

// A run of bytes that is given out piece by piece, the lowest first. Pages are touched by use only.
class Arena {
 public:
  explicit Arena(size_t bytes);
  // Null where there is no piece of that size.
  std::byte* acquire(size_t bytes);
  void release(std::byte* at, size_t bytes);

 private:
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  struct Gap {
    size_t begin, end;
  };
  size_t capacity_;
  std::unique_ptr<std::byte, Free> memory_;  // made when first needed
  std::vector<Gap> gaps_;                    // rising
};

struct PoolSizes {
  size_t in_turn = 0;  // at least the largest message
  size_t ahead = 0;
  size_t total() const { return in_turn + ahead; }
};

// A push of several slices has at most this much bulk.
inline constexpr size_t max_group_bytes = 1u << 20;

// For slices of `model` bytes together, the largest of which has `largest`: with the values and
// one more copy of them this stays within 3.2 times the model, but for very small models.
PoolSizes pool_sizes(size_t model, size_t largest);

class GradientPool {
 public:
  using Handle = uint32_t;
  static constexpr Handle none = ~Handle{0};

  explicit GradientPool(const PoolSizes& sizes, ByteBudget* budget = nullptr)
      : in_turn_(sizes.in_turn), ahead_(sizes.ahead), claim_(budget) {}

  // A buffer with one user, or none. What is in turn may take either region.
  Handle acquire(size_t bytes, bool in_turn);
  // The same beside both regions, in memory of its own, which is used again: for a gradient that
  // has to leave the region of those in turn, and for rows of tables, of which there may be any
  // number. None for rows where the budget has no more.
  Handle acquire_beside(size_t bytes) { return acquire_own(bytes, true); }
  Handle acquire_rows(size_t bytes) { return acquire_own(bytes, false); }
  bool in_turn(Handle h) const { return h != none && buffers_[h].from == &in_turn_; }
  std::byte* data(Handle h) const { return buffers_[h].data; }
  // `none`, of a gradient without bytes, has no users.
  void add_user(Handle h) {
    if (h != none) ++buffers_[h].users;
  }
  // The last one gives it back.
  void release(Handle h);

 private:
  struct Buffer {
    std::byte* data = nullptr;
    size_t bytes = 0;
    Arena* from = nullptr;  // null: `own`
    uint32_t users = 0;
    std::unique_ptr<std::byte[]> own;
    size_t capacity = 0;  // of `own`
  };
  Handle take_unused(std::vector<Handle>& unused);
  Handle acquire_own(size_t bytes, bool whatever_the_limit);

  Arena in_turn_, ahead_;
  std::vector<Buffer> buffers_;
  std::vector<Handle> unused_, unused_own_;
  ByteClaim claim_;  // of all `own`
};

}  // namespace paddle
