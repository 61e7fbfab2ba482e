// Lets the host of this library (Python) end a long call: every loop that waits, and a plan between
// two ops, calls check_interrupt(), which asks the host about ten times a second.
#pragma once

#include <atomic>
#include <functional>

namespace paddle {

namespace interrupt {
extern std::atomic<bool> watched;
void ask();
}  // namespace interrupt

// What to ask; it throws where the call shall end. Set once, before any thread calls
// check_interrupt(); without it, nothing is asked.
void set_interrupt_check(std::function<void()> check);

// Throws what the host's check throws. Cheap: to be called as often as one likes, and at least
// every 200 ms.
inline void check_interrupt() {
  if (interrupt::watched.load(std::memory_order_relaxed)) interrupt::ask();
}

}  // namespace paddle
