// Simulated time: events in the order of their moments, one random source, and a trace.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"

namespace paddle::sim {

inline Time::duration to_duration(double seconds) {
  return std::chrono::duration_cast<Time::duration>(std::chrono::duration<double>(seconds));
}

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t bits() { return mix64(state_ += 0x9e3779b97f4a7c15ull); }
  uint64_t below(uint64_t n) { return bits() % n; }
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  double between(double a, double b) { return a + (b - a) * unit(); }
  bool chance(double p) { return unit() < p; }

 private:
  uint64_t state_;
};

class World {
 public:
  World(uint64_t seed, bool traces) : random(seed), traces_(traces) {}

  Time now() const { return now_; }
  double seconds_passed() const { return seconds(start, now_); }
  void at(Time when, std::function<void()> what) {
    events_.push({std::max(when, now_), next_++, std::move(what)});
  }
  void after(double wait, std::function<void()> what) {
    at(now_ + to_duration(wait), std::move(what));
  }
  // Lets the next event happen; false where there is none.
  bool step() {
    if (events_.empty()) return false;
    auto what = std::move(const_cast<Event&>(events_.top()).what);
    now_ = events_.top().when;
    events_.pop();
    ++happened_;
    what();
    return true;
  }
  uint64_t happened() const { return happened_; }

  bool traces() const { return traces_; }
  template <class... Parts>
  void trace(const Parts&... parts) {
    if (traces_) print(text(parts...));
  }

  static constexpr Time start = Time{} + std::chrono::hours(1);
  Random random;

 private:
  struct Event {
    Time when;
    uint64_t number;
    std::function<void()> what;
    bool operator<(const Event& o) const {
      return when != o.when ? when > o.when : number > o.number;
    }
  };
  void print(const std::string& line) const;

  const bool traces_;
  Time now_ = start;
  uint64_t next_ = 0, happened_ = 0;
  std::priority_queue<Event> events_;
};

// The clock of one machine: it has its own beginning, and runs a little fast or slow.
struct LocalClock {
  double offset = 0, rate = 1;  // seconds; how many pass here in one

  Time local(Time world) const {
    return World::start + to_duration(offset + rate * seconds(World::start, world));
  }
  Time world(Time local) const {
    const double passed = (seconds(World::start, local) - offset) / rate;
    return World::start + to_duration(passed + 1e-6);  // not before, whatever is rounded
  }
};

}  // namespace paddle::sim
