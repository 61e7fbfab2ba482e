// The lines that people read on a terminal while a job trains, one for each pass.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "obs/event.h"

namespace paddle {

// A pass, as its line shows it.
struct PassResult {
  event::PassEnded ended;
  int64_t passes = 0;              // of the job; 0: not known
  double samples_per_second = -1;  // -1: not known
  std::optional<event::TestResult> test;
};

// "pass 2/12  cost 0.130  accuracy 0.960  test 0.965  52 k samples/s" in less than `columns`. The
// test shows its evaluators, with names where there are several, or its cost where there are none.
std::string pass_line(const PassResult& pass, int columns);

// "pass 2  cost 0.125  accuracy 0.965  1000 samples": a test of its own.
std::string test_line(const event::TestResult& test, int columns);

// Makes the lines from the events of trainer 0. A line is complete when the test of its pass is
// done, or when the trainer goes on without one. Short passes are not all shown: the first, the
// last, and else one a second; the log has them all.
class PassLines {
 public:
  using Clock = std::function<double()>;  // seconds, never going back
  explicit PassLines(int64_t passes);
  PassLines(int64_t passes, Clock clock);

  // The line to show after this event; "" for none.
  std::string take(const event::Any& event, double samples_per_second, int columns);
  // The line of the last pass, where it was not shown and no test will follow; "" for none.
  std::string flush(int columns);

 private:
  bool due();

  int64_t passes_;
  Clock clock_;
  std::optional<double> last_;  // when a line was shown
  std::optional<PassResult> pending_;
};

}  // namespace paddle
