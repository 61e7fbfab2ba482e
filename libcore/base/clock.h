// Time as it is passed to decisions: nothing but a daemon's loop reads a clock.
#pragma once

#include <chrono>

namespace paddle {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;

inline double seconds(Time from, Time to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace paddle
