// The last line of a terminal, which shows how far a training is. Where stderr is not a terminal
// nothing is drawn: the log lines say the same there.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "obs/event.h"

namespace paddle {

struct ProgressNow {
  int64_t pass = 0, passes = 0;    // passes done, of all
  int64_t batch = 0, batches = 0;  // batches of this pass done, of all; 0 = not known yet
  int64_t samples = 0;             // since the start
  double cost = 0;
  event::Evaluators evaluators;
  int64_t step = -1;  // of a Python script, whose passes and batches are not known
};

// A part of a line and its rank: 0 is the most important one. Empty parts are left out.
struct LinePart {
  int rank = 0;
  std::string text;
};
// The parts with two blanks between them in less than `columns`. What does not fit is left out
// whole, the least important first, so that no number is cut into another one.
std::string fitting_line(const std::vector<LinePart>& parts, int columns);

// "pass 3/100  batch 120/938  cost 0.123  error 0.0200  12 k samples/s  1:02 left" in less than
// `columns`: the rate gets shorter (12 k/s), then the least important parts are left out. Negative
// rates and times are not known and left out. Of a script "step 4711  cost 0.123  12 k samples/s",
// without the cost where that is not known.
std::string progress_line(const ProgressNow& now, double samples_per_second, double seconds_left,
                          int columns);

// "59 s", "1:02", "3:04:05", "2 days"
std::string duration_text(double seconds);
// "52 k", "1.2 M", "99.5": a number per second, short.
std::string rate_text(double per_second);
// "0.130", "23.1", "12345", "1.30e-05": a cost or an evaluator, short.
std::string value_text(double value);
// "pass 3/100", where `done` are the passes before it: people count from 1. "pass 3" where it is
// not known how many there are.
std::string pass_text(int64_t done, int64_t passes);

// The rate and the time left, worked out from how far a training was at some times.
class Estimate {
 public:
  // `time` in seconds, rising. A training that went back to an earlier batch counts as standing
  // still until it is where it was.
  void update(const ProgressNow& now, double time);
  double samples_per_second() const { return rate_; }  // over the last seconds; -1: not known
  double seconds_left() const { return left_; }        // by the mean since the start; -1: not known

 private:
  bool begun_ = false;
  double first_time_ = 0, last_time_ = 0;
  double first_done_ = 0;      // in batches or passes: a resumed run starts in the middle
  int64_t batches_known_ = 0;  // of the longest pass, where the data does not say
  int64_t last_samples_ = 0;
  double rate_ = -1, left_ = -1;
};

// Whether something that shall happen every `period` seconds is due. Cheap enough to ask after
// every step, which may take a microsecond: it looks at the clock about a hundred times a second.
class Pace {
 public:
  using Clock = std::function<double()>;  // seconds, never going back
  explicit Pace(double period);
  Pace(double period, Clock clock);

  // True at most once per period, the first time at once.
  bool due() { return ++asked_ >= stride_ && time_is_due(); }
  double now() const { return clock_(); }

 private:
  bool time_is_due();

  Clock clock_;
  double period_, last_look_, last_due_;
  int64_t asked_ = 0, stride_ = 1;  // the clock is looked at only every stride_ questions
};

class Progress {
 public:
  using Clock = Pace::Clock;
  Progress();
  explicit Progress(Clock clock);
  ~Progress();  // removes the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Whether a line is drawn at all.
  bool active() const { return active_; }

  // Cheap enough to ask after every batch; true at most ten times a second. Then call draw().
  bool due() { return active_ && pace_.due(); }
  void draw(const ProgressNow& now);
  // Removes the line, and ends a line of dots, before results go to stdout; a later draw()
  // brings it back.
  void clear();

 private:
  Pace pace_;
  bool active_;
  Estimate estimate_;
};

}  // namespace paddle
