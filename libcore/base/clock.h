// Time as it is passed to decisions: nothing but a daemon's loop, and what shows or reports, reads
// a clock.
#pragma once

#include <chrono>

namespace paddle {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;

inline double seconds(Time from, Time to) {
  return std::chrono::duration<double>(to - from).count();
}

// Of a clock that only goes forward.
inline double steady_seconds() { return seconds(Time{}, Clock::now()); }

// Since 1970.
inline double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace paddle
