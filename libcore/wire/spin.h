// Looking for work before sleeping: waking a thread costs more than a small message. Others that
// look get their turn in between. Where somebody computes on this processor that turn takes
// milliseconds: then nobody is let in for a while, and who looks by experience sleeps instead.
#pragma once

#include <chrono>
#include <thread>

#include "wire/asio.h"

namespace paddle::wire {

class Spin {
 public:
  using Clock = std::chrono::steady_clock;

  // How long to look each time; 0 never does. A negative number leaves it to experience: a while
  // after waits that were short, not at all after long ones.
  explicit Spin(int64_t microseconds)
      : adapts_(microseconds < 0),
        looks_(microseconds > 0),
        limit_(adapts_ ? std::chrono::microseconds(usual)
                       : std::chrono::microseconds(microseconds)) {}

  // Runs what is ready until done() holds or nothing has come for the limit; returns done().
  template <class Done>
  bool look(asio::io_context& io, const Done& done) {
    auto last = Clock::now();
    const bool alone = last >= crowded_until_;
    if (!looks_ || (adapts_ && !alone)) return done();
    while (!done()) {
      if (io.poll() > 0) {
        last = Clock::now();
        continue;
      }
      const auto now = Clock::now();
      if (now - last > limit_) {
        looks_ = !adapts_;
        return false;
      }
      if (alone) yield(now);
    }
    return true;
  }

  // The wait that followed took this long.
  void slept(Clock::duration time) {
    if (adapts_) looks_ = time < limit_;
  }

 private:
  static constexpr int usual = 50;
  static constexpr auto long_turn = std::chrono::microseconds(200);
  static constexpr auto crowd_lasts = std::chrono::seconds(1);

  void yield(Clock::time_point before) {
    std::this_thread::yield();
    const auto now = Clock::now();
    if (now - before > long_turn) crowded_until_ = now + crowd_lasts;
  }

  bool adapts_, looks_;
  Clock::duration limit_;
  Clock::time_point crowded_until_{};
};

}  // namespace paddle::wire
