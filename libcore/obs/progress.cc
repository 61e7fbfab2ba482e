#include "obs/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"

namespace paddle {
namespace {

constexpr double redraw_seconds = 0.1, look_seconds = 0.01, smoothing_seconds = 3;
// How long no sample may have come before that counts as standing still: it may be asked more often
// than it is told.
constexpr double still_seconds = 1;

std::string count_text(const char* word, int64_t n, int64_t of) {
  return of > 0 ? text(word, " ", n, "/", of) : text(word, " ", n);
}

}  // namespace

std::string rate_text(double rate) {
  char buffer[48];
  const char* unit = rate >= 1e6 ? " M" : rate >= 1e4 ? " k" : "";
  const double shown = rate >= 1e6 ? rate / 1e6 : rate >= 1e4 ? rate / 1e3 : rate;
  const double whole_from = *unit != '\0' ? 10 : 100;
  std::snprintf(buffer, sizeof buffer, "%.*f%s", shown < whole_from ? 1 : 0, shown, unit);
  return buffer;
}

std::string value_text(double value) {
  char buffer[48];
  const double size = std::fabs(value);
  if (value == 0 || !std::isfinite(value) || size >= 1e7)
    std::snprintf(buffer, sizeof buffer, "%.3g", value);
  else if (size >= 100)
    std::snprintf(buffer, sizeof buffer, "%.0f", value);
  else
    std::snprintf(buffer, sizeof buffer, "%#.3g", value);
  return buffer;
}

std::string pass_text(int64_t done, int64_t passes) {
  return count_text("pass", passes > 0 ? std::min(done + 1, passes) : done + 1, passes);
}

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

std::string fitting_line(const std::vector<LinePart>& parts, int columns) {
  const auto joined = [&](int least_important) {
    std::string line;
    for (const auto& [rank, part] : parts)
      if (rank <= least_important && !part.empty()) line += (line.empty() ? "" : "  ") + part;
    return line;
  };
  int least = 0;
  for (const LinePart& part : parts) least = std::max(least, part.rank);
  // The last column stays free: many terminals wrap when it is written.
  const size_t width = columns > 1 ? static_cast<size_t>(columns - 1) : 0;
  for (; least >= 0; --least)
    if (std::string line = joined(least); line.size() <= width) return line;
  return joined(0).substr(0, width);
}

std::string progress_line(const ProgressNow& now, double samples_per_second, double seconds_left,
                          int columns) {
  const bool script = now.step >= 0;
  std::vector<LinePart> parts = {
      {0, script ? text("step ", now.step) : pass_text(now.pass, now.passes)},
      {3, script ? "" : count_text("batch", now.batch, now.batches)},
      {1, script && !std::isfinite(now.cost) ? "" : "cost " + value_text(now.cost)}};
  int rank = 4;
  for (const auto& [name, value] : now.evaluators) {
    parts.push_back({rank, name + " " + value_text(value)});
    rank = 6;  // the first is more important than the rate
  }
  const auto line = [&](const char* unit) {
    std::vector<LinePart> all = parts;
    all.push_back({5, samples_per_second < 0 ? "" : rate_text(samples_per_second) + unit});
    all.push_back({2, seconds_left < 0 ? "" : duration_text(seconds_left) + " left"});
    return fitting_line(all, columns);
  };
  const std::string whole = line(" samples/s"), brief = line("/s");
  // Most lines fit into 80 columns with the shorter one; it is the longer line where the other had
  // to leave something out.
  return brief.size() > whole.size() ? brief : whole;
}

Pace::Pace(double period) : Pace(period, steady_seconds) {}

Pace::Pace(double period, Clock clock)
    : clock_(std::move(clock)),
      period_(period),
      last_look_(clock_()),
      last_due_(last_look_ - 2 * period) {}  // due at once

bool Pace::time_is_due() {
  const double now = clock_(), passed = std::max(now - last_look_, 1e-9);
  const double wanted = static_cast<double>(asked_) * look_seconds / passed;
  stride_ =
      std::clamp<int64_t>(static_cast<int64_t>(wanted), 1, std::min<int64_t>(2 * stride_, 1 << 16));
  asked_ = 0;
  last_look_ = now;
  if (now - last_due_ < period_) return false;
  last_due_ = now;
  return true;
}

Progress::Progress() : Progress(steady_seconds) {}

Progress::Progress(Clock clock)
    : pace_(redraw_seconds, std::move(clock)), active_(log_on_terminal()) {}

Progress::~Progress() { clear(); }

void Progress::clear() { show_status(""); }

void Progress::draw(const ProgressNow& now) {
  if (!active_) return;
  estimate_.update(now, pace_.now());
  show_status(
      progress_line(now, estimate_.samples_per_second(), estimate_.seconds_left(), log_columns()));
}

void Estimate::update(const ProgressNow& now, double time) {
  batches_known_ = std::max(batches_known_, now.batches);
  // In batches where the length of a pass is known, else in passes.
  const bool known = batches_known_ > 0;
  const double each = known ? static_cast<double>(batches_known_) : 1;
  const double done =
      static_cast<double>(now.pass) * each + (known ? static_cast<double>(now.batch) : 0);
  if (!begun_) {
    begun_ = true;
    first_time_ = last_time_ = time;
    first_done_ = done;
    last_samples_ = now.samples;
    return;
  }
  const double passed = time - last_time_;
  const bool waits = now.samples == last_samples_ && passed < still_seconds;
  if (passed > 0 && now.samples >= last_samples_ && !waits) {
    // A mean over the last seconds, or over all of them as long as there are fewer.
    const double rate = static_cast<double>(now.samples - last_samples_) / passed;
    const double old = std::exp(-passed / smoothing_seconds);
    const double before = 1 - std::exp((first_time_ - last_time_) / smoothing_seconds);
    const double weight = 1 - std::exp((first_time_ - time) / smoothing_seconds);
    rate_ = (old * before * std::max(rate_, 0.0) + (1 - old) * rate) / weight;
    last_samples_ = now.samples;
    last_time_ = time;
  }
  if (now.passes <= 0 || done <= first_done_) return;
  const double to_do = std::max(static_cast<double>(now.passes) * each - done, 0.0);
  left_ = (time - first_time_) / (done - first_done_) * to_do;
}

}  // namespace paddle
