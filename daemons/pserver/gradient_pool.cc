#include "pserver/gradient_pool.h"

#include <algorithm>
#include <cassert>
#include <new>

namespace paddle {
namespace {

constexpr size_t pool_alignment = 64;

size_t aligned(size_t bytes) {
  return (std::max<size_t>(bytes, 1) + pool_alignment - 1) / pool_alignment * pool_alignment;
}

}  // namespace

PoolSizes pool_sizes(size_t model, size_t largest) {
  const size_t in_turn = aligned(std::max(largest, std::min(model, max_group_bytes)));
  const size_t some = aligned(std::min<size_t>(model / 8, 4u << 20));
  const size_t half = model / 2;
  const size_t ahead = std::max(some, half > in_turn ? aligned(half - in_turn) : 0);
  return {in_turn, std::max(ahead, aligned(std::min(model, max_group_bytes)))};
}

Arena::Arena(size_t bytes) : capacity_(bytes) {
  if (bytes > 0) gaps_.push_back({0, bytes});
}

std::byte* Arena::acquire(size_t bytes) {
  const size_t need = aligned(bytes);
  for (size_t i = 0; i < gaps_.size(); ++i) {
    Gap& gap = gaps_[i];
    if (gap.end - gap.begin < need) continue;
    if (!memory_)
      memory_.reset(static_cast<std::byte*>(std::aligned_alloc(pool_alignment, capacity_)));
    if (!memory_) throw std::bad_alloc();
    std::byte* at = memory_.get() + gap.begin;
    gap.begin += need;
    if (gap.begin == gap.end) gaps_.erase(gaps_.begin() + static_cast<std::ptrdiff_t>(i));
    return at;
  }
  return nullptr;
}

void Arena::release(std::byte* at, size_t bytes) {
  const auto begin = static_cast<size_t>(at - memory_.get());
  const size_t end = begin + aligned(bytes);
  auto next =
      std::find_if(gaps_.begin(), gaps_.end(), [&](const Gap& g) { return g.begin >= end; });
  const bool joins_next = next != gaps_.end() && next->begin == end;
  const bool joins_last = next != gaps_.begin() && (next - 1)->end == begin;
  if (joins_next && joins_last) {
    (next - 1)->end = next->end;
    gaps_.erase(next);
  } else if (joins_next) {
    next->begin = begin;
  } else if (joins_last) {
    (next - 1)->end = end;
  } else {
    gaps_.insert(next, {begin, end});
  }
}

GradientPool::Handle GradientPool::take_unused(std::vector<Handle>& unused) {
  if (unused.empty()) {
    unused.push_back(static_cast<Handle>(buffers_.size()));
    buffers_.emplace_back();
  }
  const Handle h = unused.back();
  unused.pop_back();
  return h;
}

GradientPool::Handle GradientPool::acquire(size_t bytes, bool in_turn) {
  Arena* from = in_turn ? &in_turn_ : &ahead_;
  std::byte* data = from->acquire(bytes);
  if (data == nullptr && in_turn) {
    from = &ahead_;
    data = from->acquire(bytes);
  }
  if (data == nullptr) return none;
  const Handle h = take_unused(unused_);
  Buffer& b = buffers_[h];
  b.data = data;
  b.bytes = bytes;
  b.from = from;
  b.users = 1;
  return h;
}

GradientPool::Handle GradientPool::acquire_own(size_t bytes, bool whatever_the_limit) {
  const Handle h = take_unused(unused_own_);
  Buffer& b = buffers_[h];
  if (b.capacity < bytes) {
    claim_.remove(b.capacity);
    b.own.reset();
    b.capacity = 0;
    if (whatever_the_limit) {
      claim_.add_anyway(bytes);
    } else if (!claim_.add(bytes)) {
      unused_own_.push_back(h);
      return none;
    }
    b.own = std::make_unique_for_overwrite<std::byte[]>(bytes);
    b.capacity = bytes;
  }
  b.data = b.own.get();
  b.bytes = bytes;
  b.from = nullptr;
  b.users = 1;
  return h;
}

void GradientPool::release(Handle h) {
  if (h == none) return;
  Buffer& b = buffers_[h];
  assert(b.users > 0);
  if (--b.users > 0) return;
  if (b.from == nullptr) return unused_own_.push_back(h);
  b.from->release(b.data, b.bytes);
  unused_.push_back(h);
}

}  // namespace paddle
