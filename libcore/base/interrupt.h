// A way into long waits for whoever embeds the library: a Python that wants to see Ctrl-C.
#pragma once

#include <functional>

namespace paddle {

// `check` is called by every wait that may last, at least every 200 ms, in the thread that waits.
// What it throws ends the wait. Set it while nobody waits; an empty one takes it away.
void set_interrupt_check(std::function<void()> check);

// For wait loops.
void check_interrupt();
// Whether somebody wants to be asked: waits that would sleep for longer wake up in between.
bool has_interrupt_check();

}  // namespace paddle
