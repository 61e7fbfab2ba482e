// Memory that a process may hold. Bytes are taken from a budget before they are reserved and given
// back when they are free. A budget can be a part of another one: what is taken from the part is
// taken from the whole as well. From any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace paddle {

class ByteBudget {
 public:
  explicit ByteBudget(uint64_t limit, ByteBudget* whole = nullptr) : limit_(limit), whole_(whole) {}

  // False where the limit would be passed: then nothing is taken.
  bool take(uint64_t bytes) {
    uint64_t held = held_.load();
    do {
      if (bytes > limit_ || held > limit_ - bytes) return false;
    } while (!held_.compare_exchange_weak(held, held + bytes));
    if (whole_ == nullptr || whole_->take(bytes)) return true;
    held_ -= bytes;
    return false;
  }
  // For memory that is bounded by other means: it is counted, whatever the limit.
  void take_anyway(uint64_t bytes) {
    held_ += bytes;
    if (whole_) whole_->take_anyway(bytes);
  }
  void give(uint64_t bytes) {
    held_ -= bytes;
    if (whole_) whole_->give(bytes);
  }

  uint64_t limit() const { return limit_; }
  uint64_t held() const { return held_; }
  bool used_up() const { return held_ >= limit_ || (whole_ && whole_->used_up()); }

 private:
  const uint64_t limit_;
  ByteBudget* const whole_;
  std::atomic<uint64_t> held_ = 0;
};

// What one owner has taken; given back with the owner. Without a budget everything is allowed, and
// counted here alone.
class ByteClaim {
 public:
  explicit ByteClaim(ByteBudget* budget = nullptr) : budget_(budget) {}
  ~ByteClaim() { clear(); }
  ByteClaim(ByteClaim&& o) noexcept
      : budget_(o.budget_), bytes_(std::exchange(o.bytes_, uint64_t{0})) {}
  ByteClaim& operator=(ByteClaim&& o) noexcept {
    clear();
    budget_ = o.budget_;
    bytes_ = std::exchange(o.bytes_, uint64_t{0});
    return *this;
  }

  bool add(uint64_t bytes) {
    if (budget_ && !budget_->take(bytes)) return false;
    bytes_ += bytes;
    return true;
  }
  void add_anyway(uint64_t bytes) {
    if (budget_) budget_->take_anyway(bytes);
    bytes_ += bytes;
  }
  void remove(uint64_t bytes) {
    if (budget_) budget_->give(bytes);
    bytes_ -= bytes;
  }
  void clear() {
    if (bytes_ > 0) remove(bytes_);
  }

  uint64_t bytes() const { return bytes_; }
  ByteBudget* budget() const { return budget_; }

 private:
  ByteBudget* budget_;
  uint64_t bytes_ = 0;
};

}  // namespace paddle
