#include "obs/progress.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "base/log.h"
#include "support/pseudo_terminal.h"

using namespace paddle;
using Catch::Contains;

namespace {

ProgressNow at(int64_t pass, int64_t batch, int64_t samples) {
  return {.pass = pass,
          .passes = 10,
          .batch = batch,
          .batches = 100,
          .samples = samples,
          .cost = 0.25,
          .evaluators = {{"error", 0.02}}};
}

// Sends the log to `descriptor` for the life of a test.
struct LogTo {
  explicit LogTo(int descriptor, bool draws = true) {
    start_log({.descriptor = descriptor, .draws = draws});
  }
  ~LogTo() { start_log({}); }
};

}  // namespace

TEST_CASE("progress line", "[obs]") {
  SECTION("shows all it knows") {
    CHECK(progress_line(at(2, 40, 0), 12345.6, 62, 100) ==
          "pass 3/10  batch 40/100  cost 0.250  error 0.0200  12 k samples/s  1:02 left");
    ProgressNow start;
    start.batch = 7;
    CHECK(progress_line(start, -1, -1, 100) == "pass 1  batch 7  cost 0");
    CHECK_THAT(progress_line(at(10, 100, 0), 0, 0, 100), Contains("pass 10/10"));
  }
  SECTION("leaves out the least important where the terminal is narrow") {
    for (int columns = 0; columns < 100; ++columns)
      CHECK(progress_line(at(2, 40, 0), 500, 62, columns).size() <=
            static_cast<size_t>(std::max(columns - 1, 0)));
    CHECK(progress_line({11, 100, 921, 938, 0, 0.13009, {{"accuracy", 0.9603}}}, 61234, 62, 80) ==
          "pass 12/100  batch 921/938  cost 0.130  accuracy 0.960  61 k/s  1:02 left");
    CHECK(progress_line(at(2, 40, 0), 500, 62, 40) == "pass 3/10  cost 0.250  1:02 left");
    CHECK(progress_line(at(2, 40, 0), 500, 62, 5) == "pass");
    ProgressNow script{.cost = 0.25, .step = 4711};
    CHECK(progress_line(script, 500, -1, 100) == "step 4711  cost 0.250  500 samples/s");
    script.cost = NAN;
    CHECK(progress_line(script, -1, -1, 100) == "step 4711");
  }
  SECTION("short numbers") {
    const std::pair<double, const char*> values[] = {
        {0, "0"},           {0.13, "0.130"},  {23.14159, "23.1"},   {187.4, "187"},
        {12345.6, "12346"}, {-0.5, "-0.500"}, {1.3e-5, "1.30e-05"}, {1.5e30, "1.5e+30"},
        {NAN, "nan"}};
    for (const auto& [value, shown] : values) CHECK(value_text(value) == shown);
    const std::pair<double, const char*> rates[] = {{0.5, "0.5"},       {99.54, "99.5"},
                                                    {640, "640"},       {52341, "52 k"},
                                                    {1234567, "1.2 M"}, {45e6, "45 M"}};
    for (const auto& [rate, shown] : rates) CHECK(rate_text(rate) == shown);
  }
  SECTION("says durations as people do") {
    CHECK(duration_text(0.2) == "1 s");
    CHECK(duration_text(59) == "59 s");
    CHECK(duration_text(3599) == "59:59");
    CHECK(duration_text(3 * 3600 + 65) == "3:01:05");
    CHECK(duration_text(1e6) == "11 days");
    CHECK(duration_text(1e300).size() < 20);
  }
}

TEST_CASE("progress", "[obs]") {
  double time = 100;
  const auto clock = [&] { return time; };

  SECTION("is drawn, redrawn and taken away on a terminal") {
    PseudoTerminal terminal(100);
    const LogTo log(terminal.device());
    {
      Progress progress(clock);
      REQUIRE(progress.active());
      REQUIRE(progress.due());
      progress.draw(at(0, 0, 0));
      CHECK(terminal.read() == "\r\x1b[Kpass 1/10  batch 0/100  cost 0.250  error 0.0200");
      time += 1;
      progress.draw(at(0, 10, 2000));
      // 10 batches a second, 990 to go
      CHECK(terminal.read() ==
            "\r\x1b[Kpass 1/10  batch 10/100  cost 0.250  error 0.0200  2000 samples/s  1:39 left");
      terminal.resize(40);
      progress.draw(at(0, 20, 4000));
      CHECK(terminal.read() == "\r\x1b[Kpass 1/10  cost 0.250  49 s left");
    }
    CHECK(terminal.read() == "\r\x1b[K");
  }
  SECTION("is at most drawn ten times a second, however fast the steps are") {
    PseudoTerminal terminal;
    const LogTo log(terminal.device());
    Progress progress(clock);
    const double step = GENERATE(1e-6, 1e-3, 0.03, 0.5);
    int drawn = 0, steps = 0;
    for (; time < 103; time += step, ++steps)
      if (progress.due()) {
        ++drawn;
        progress.draw(at(0, steps % 100, steps));
      }
    CHECK(drawn <= 31);
    CHECK(drawn >= std::min(steps - 2, 20));
  }
  SECTION("log lines and the line do not overwrite each other") {
    PseudoTerminal terminal;
    const LogTo log(terminal.device());
    Progress progress(clock);
    progress.draw(at(0, 1, 1));
    terminal.read();
    log_info("Batch=1");
    show_dot();  // no dots into the line
    const std::string line = "pass 1/10  batch 1/100  cost 0.250  error 0.0200";
    CHECK_THAT(terminal.read(), Catch::Matches("\\r\\x1b\\[KI[^\\r]*\\] Batch=1\\r\\n" + line));
  }
  const auto draws_nothing = [&](auto& end, bool can_draw) {
    const LogTo log(end.device(), can_draw);
    Progress progress(clock);
    CHECK_FALSE(progress.active());
    CHECK_FALSE(progress.due());
    progress.draw(at(0, 1, 1));
    progress.clear();
    CHECK(end.read().empty());
  };
  SECTION("nothing goes into a pipe") {
    Pipe pipe;
    draws_nothing(pipe, true);
  }
  SECTION("nothing goes to a terminal that cannot draw") {
    PseudoTerminal terminal;
    draws_nothing(terminal, false);
  }
}
