#include "obs/progress.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <utility>

#include "base/error.h"
#include "base/log.h"

namespace paddle {
namespace {

constexpr double redraw_seconds = 0.1, look_seconds = 0.01, smoothing_seconds = 3;

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string rate_text(double rate) {
  char buffer[48];
  const char* unit = rate >= 1e6 ? "M" : rate >= 1e4 ? "k" : "";
  const double shown = rate >= 1e6 ? rate / 1e6 : rate >= 1e4 ? rate / 1e3 : rate;
  std::snprintf(buffer, sizeof buffer, "%.*f%s", shown < 100 ? 1 : 0, shown, unit);
  return buffer;
}

std::string count_text(const char* word, int64_t n, int64_t of) {
  return of > 0 ? text(word, " ", n, "/", of) : text(word, " ", n);
}

}  // namespace

std::string duration_text(double seconds) {
  const auto s = static_cast<int64_t>(std::min(std::ceil(seconds), 1e12));
  char buffer[48];
  if (s < 60) return text(s, " s");
  if (s < 3600)
    std::snprintf(buffer, sizeof buffer, "%d:%02d", static_cast<int>(s / 60),
                  static_cast<int>(s % 60));
  else if (s < 2 * 86400)
    std::snprintf(buffer, sizeof buffer, "%d:%02d:%02d", static_cast<int>(s / 3600),
                  static_cast<int>(s / 60 % 60), static_cast<int>(s % 60));
  else
    return text(s / 86400, " days");
  return buffer;
}

std::string progress_line(const ProgressNow& now, double samples_per_second, double seconds_left,
                          int columns) {
  char cost[48];
  std::snprintf(cost, sizeof cost, "cost %.5g", now.cost);
  // By importance: what does not fit is left out whole, so that no number is cut into another one.
  std::pair<int, std::string> parts[] = {
      {0, count_text("pass", std::min(now.pass + 1, std::max<int64_t>(now.passes, 1)), now.passes)},
      {3, count_text("batch", now.batch, now.batches)},
      {1, cost},
      {4, now.evaluators},
      {5, samples_per_second < 0 ? "" : rate_text(samples_per_second) + " samples/s"},
      {2, seconds_left < 0 ? "" : duration_text(seconds_left) + " left"},
  };
  const auto joined = [&](int least_important) {
    std::string line;
    for (const auto& [rank, part] : parts)
      if (rank <= least_important && !part.empty()) line += (line.empty() ? "" : "  ") + part;
    return line;
  };
  // The last column stays free: many terminals wrap when it is written.
  const size_t space = columns > 1 ? static_cast<size_t>(columns - 1) : 0;
  if (joined(5).size() > space && samples_per_second >= 0)
    parts[4].second = rate_text(samples_per_second) + "/s";  // most lines then fit into 80 columns
  for (int least = 5; least >= 0; --least)
    if (std::string line = joined(least); line.size() <= space) return line;
  return joined(0).substr(0, space);
}

Progress::Progress() : Progress(steady_seconds) {}

Progress::Progress(Clock clock) : clock_(std::move(clock)), active_(log_on_terminal()) {
  start_ = last_look_ = clock_();
  last_draw_ = start_ - 1;  // the first line comes at once
}

Progress::~Progress() { clear(); }

void Progress::clear() { show_status(""); }

// A step may take a microsecond: look at the clock about a hundred times a second, not after each.
bool Progress::time_is_due() {
  const double now = clock_(), passed = std::max(now - last_look_, 1e-9);
  const double wanted = static_cast<double>(asked_) * look_seconds / passed;
  stride_ =
      std::clamp<int64_t>(static_cast<int64_t>(wanted), 1, std::min<int64_t>(2 * stride_, 1 << 16));
  asked_ = 0;
  last_look_ = now;
  return now - last_draw_ >= redraw_seconds;
}

void Progress::draw(const ProgressNow& now) {
  if (!active_) return;
  const double time = clock_();
  if (first_batch_ >= 0) {
    const double passed = time - last_draw_;
    if (passed > 0) {
      const double rate = static_cast<double>(now.samples - last_samples_) / passed;
      const double old = std::exp(-passed / smoothing_seconds);
      rate_ = rate_ < 0 ? rate : old * rate_ + (1 - old) * rate;
    }
  }
  const double left = seconds_left(now, time);
  last_samples_ = now.samples;
  last_draw_ = time;
  show_status(progress_line(now, rate_, left, log_columns()));
}

// By the mean time of a batch since the first draw.
double Progress::seconds_left(const ProgressNow& now, double time) {
  batches_known_ = std::max({batches_known_, now.batches});
  const bool known = batches_known_ > 0;
  const int64_t done = now.pass * (known ? batches_known_ : 0) + now.batch;
  if (first_batch_ < 0) {
    first_batch_ = done;
    first_time_ = time;
    return -1;
  }
  if (!known || now.passes <= 0 || done <= first_batch_) return -1;
  const double each = (time - first_time_) / static_cast<double>(done - first_batch_);
  return each * static_cast<double>(std::max<int64_t>(now.passes * batches_known_ - done, 0));
}

}  // namespace paddle
