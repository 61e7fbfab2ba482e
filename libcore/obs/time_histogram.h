// How often something took how long: one count per power of two of microseconds. Observing is two
// relaxed additions; any thread may observe and any thread may read.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

namespace paddle {

class TimeHistogram {
 public:
  static constexpr size_t finite = 22;  // buckets with an upper bound: 8 µs, 16 µs … 16.8 s

  // In seconds; what it counts is not longer than this.
  static constexpr double bound(size_t bucket) {
    return 1e-6 * static_cast<double>(uint64_t{1} << (bucket + first));
  }
  void observe(uint64_t nanoseconds) {
    const uint64_t us = (nanoseconds + 999) / 1000;
    const auto bits = static_cast<size_t>(std::bit_width(us - (us > 0)));
    const size_t bucket = bits <= first ? 0 : bits - first;
    counts_[bucket < finite ? bucket : finite].fetch_add(1, std::memory_order_relaxed);
    nanoseconds_.fetch_add(nanoseconds, std::memory_order_relaxed);
  }

  // As they are now. The last count is of what was longer than every bound.
  struct Values {
    std::array<uint64_t, finite + 1> counts{};
    double seconds = 0;  // of all together
  };
  Values values() const {
    Values out;
    for (size_t i = 0; i <= finite; ++i) out.counts[i] = counts_[i].load(std::memory_order_relaxed);
    out.seconds = static_cast<double>(nanoseconds_.load(std::memory_order_relaxed)) / 1e9;
    return out;
  }

 private:
  static constexpr size_t first = 3;  // 2^3 µs is the lowest bound
  std::array<std::atomic<uint64_t>, finite + 1> counts_{};
  std::atomic<uint64_t> nanoseconds_ = 0;
};

}  // namespace paddle
