#include "obs/pass_lines.h"

#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "obs/progress.h"

namespace paddle {
namespace {

constexpr double line_seconds = 1;

std::string test_text(const event::TestResult& test) {
  if (test.evaluators.empty()) return "test " + value_text(test.cost);
  std::string out = "test";
  for (const auto& [name, value] : test.evaluators)
    out += (test.evaluators.size() > 1 ? " " + name : "") + " " + value_text(value);
  return out;
}

}  // namespace

std::string test_line(const event::TestResult& test, int columns) {
  std::vector<LinePart> parts = {{0, pass_text(test.pass, 0)},
                                 {1, "cost " + value_text(test.cost)}};
  int rank = 2;
  for (const auto& [name, value] : test.evaluators)
    parts.push_back({rank++, name + " " + value_text(value)});
  parts.push_back({rank, text(test.samples, " samples")});
  return fitting_line(parts, columns);
}

std::string pass_line(const PassResult& pass, int columns) {
  std::vector<LinePart> parts = {{0, pass_text(pass.ended.pass, pass.passes)},
                                 {1, "cost " + value_text(pass.ended.cost)}};
  int rank = 3;
  for (const auto& [name, value] : pass.ended.evaluators) {
    parts.push_back({rank, name + " " + value_text(value)});
    rank = 5;
  }
  if (pass.test) parts.push_back({2, test_text(*pass.test)});
  if (pass.samples_per_second >= 0)
    parts.push_back({4, rate_text(pass.samples_per_second) + " samples/s"});
  return fitting_line(parts, columns);
}

PassLines::PassLines(int64_t passes) : PassLines(passes, steady_seconds) {}
PassLines::PassLines(int64_t passes, Clock clock) : passes_(passes), clock_(std::move(clock)) {}

bool PassLines::due() {
  const double now = clock_();
  if (last_ && now - *last_ < line_seconds) return false;
  last_ = now;
  return true;
}

std::string PassLines::take(const event::Any& event, double samples_per_second, int columns) {
  if (const auto* ended = std::get_if<event::PassEnded>(&event)) {
    std::string before = flush(columns);
    pending_ = PassResult{*ended, passes_, samples_per_second, {}};
    return before;
  }
  if (const auto* test = std::get_if<event::TestResult>(&event)) {
    if (pending_) pending_->test = *test;
    if (pending_ || !due()) return flush(columns);
    // Within a pass.
    return fitting_line({{0, pass_text(test->pass, passes_)}, {1, test_text(*test)}}, columns);
  }
  if (std::holds_alternative<event::RolledBack>(event)) pending_.reset();
  const bool goes_on = std::holds_alternative<event::Progress>(event) ||
                       std::holds_alternative<event::Saved>(event) ||
                       std::holds_alternative<event::Finished>(event) ||
                       std::holds_alternative<event::Exit>(event);
  return goes_on ? flush(columns) : "";
}

std::string PassLines::flush(int columns) {
  if (!pending_) return "";
  const PassResult pass = *std::exchange(pending_, std::nullopt);
  const bool last = pass.ended.pass + 1 == passes_;
  return due() || last ? pass_line(pass, columns) : "";
}

}  // namespace paddle
