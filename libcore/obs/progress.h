// The one line at the foot of a terminal that shows how far a training is. Where stderr is no
// terminal it draws nothing: the log lines say the same there.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace paddle {

struct ProgressNow {
  int64_t pass = 0, passes = 0;    // passes done, of all
  int64_t batch = 0, batches = 0;  // batches of this pass done, of all; 0 = not known yet
  int64_t samples = 0;             // since the start
  double cost = 0;
  std::string evaluators;  // "error=0.02"
};

// "pass 3/100  batch 120/938  cost 0.1234  error=0.02  12.3k samples/s  1:02 left" in less than
// `columns`: the rate gets shorter (12.3k/s), then the least important parts are left out. Negative
// rates and times are not known and left out.
std::string progress_line(const ProgressNow& now, double samples_per_second, double seconds_left,
                          int columns);

// "59 s", "1:02", "3:04:05", "2 days"
std::string duration_text(double seconds);

class Progress {
 public:
  using Clock = std::function<double()>;  // seconds, never going back
  Progress();
  explicit Progress(Clock clock);
  ~Progress();  // takes the line away
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Whether a line is drawn at all.
  bool active() const { return active_; }

  // Cheap enough to ask after every batch; true at most ten times a second. Then call draw().
  bool due() { return active_ && ++asked_ >= stride_ && time_is_due(); }
  void draw(const ProgressNow& now);
  // Takes the line away, and ends a line of dots, before results go to stdout; a later draw()
  // brings it back.
  void clear();

 private:
  bool time_is_due();
  double seconds_left(const ProgressNow& now, double time);

  Clock clock_;
  bool active_;
  int64_t asked_ = 0, stride_ = 1;  // the clock is looked at only every stride_ questions
  double start_, last_look_, last_draw_;
  int64_t batches_known_ = 0;  // of the longest pass seen, where the number is not given
  int64_t first_batch_ = -1;   // the place at the first draw: a resumed run starts in the middle
  double first_time_ = 0;
  int64_t last_samples_ = 0;
  double rate_ = -1;  // samples per second, smoothed
};

}  // namespace paddle
