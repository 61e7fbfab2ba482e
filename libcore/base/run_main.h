// What every program's main() does around its work: errors become one sentence and a documented
// exit code (docs/exit-codes.md), signals a request to stop cleanly.
#pragma once

#include <functional>
#include <string>

namespace paddle {

// Runs `body` and returns the exit code of the process. `name` starts the sentence: "paddle train:
// cannot open ...". The first SIGINT or SIGTERM asks to stop (see stop_signal()); a second one,
// more than 0.2 s later, ends the process at once. After a signal the code is 128 + its number,
// whatever `body` returned or threw, unless it called stopped_cleanly().
int run_main(const std::string& name, const std::function<int()>& body);

// 0, or the signal that asked the process to stop. Loops look at it between two batches and return.
int stop_signal();

// For programs that are meant to be ended by a signal: everything is done, and the exit code is
// what `body` returns.
void stopped_cleanly();

// Called by run_main() with the exit code and the error that ended `body` ("" for none); null:
// none.
void set_exit_observer(std::function<void(int code, const std::string& reason)> observer);

}  // namespace paddle
