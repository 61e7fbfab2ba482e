#include "obs/events.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>

#include "base/error.h"
#include "base/file.h"
#include "base/host.h"
#include "base/log.h"
#include "base/run_main.h"
#include "support/temporary.h"

using namespace paddle;
using Catch::Contains;
using Catch::StartsWith;

namespace {

const event::Source trainer{"trainer", "host:5"};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    REQUIRE(end != std::string::npos);  // every line is complete
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

// The events of the process go to a file for the life of this.
struct EventsTo {
  explicit EventsTo(const std::string& path) { start_events(path, "trainer"); }
  ~EventsTo() { start_events("", ""); }
};

struct NoLog {  // the log of the process, without anything on stderr
  NoLog() : nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC)) {
    start_log({.descriptor = nowhere.get()});
  }
  ~NoLog() { start_log({}); }
  Descriptor nowhere;
};

}  // namespace

TEST_CASE("a line of an event", "[obs]") {
  CHECK(event_line(event::Joined{1, 2, 30}, trainer, 1.5) ==
        R"({"event": "joined", "time": 1.500000, "role": "trainer", "process": "host:5", )"
        R"("trainer": 1, "trainers": 2, "step": 30})");
  event::TestResult result{.pass = 3, .samples = 10, .cost = 0.5};
  result.evaluators = {{"error", 0.25}, {"a\"uc", 1}};
  CHECK_THAT(event_line(result, trainer, 0),
             Contains(R"("cost": 0.5, "evaluators": {"error": 0.25, "a\"uc": 1}, "step": 0})"));
}

TEST_CASE("a pipe takes the longest line whole", "[obs]") {
  const std::string endless(100000, '\x01');
  const event::Source source{"trainer", endless};
  event::Evaluators many;
  for (int i = 0; i < 1000; ++i) many.emplace_back(endless.substr(0, 300), 0.123456789);
  for (const event::Any& e :
       {event::Any(event::Started{endless, endless, endless}), event::Any(event::Exit{1, endless}),
        event::Any(event::Progress{.samples = INT64_MAX, .evaluators = many})}) {
    const event::Source real{"trainer", std::string(255, 'h') + ":4194304"};
    CHECK(event_line(e, real, 1e9).size() <= 4000);
  }
}

TEST_CASE("events of a process", "[obs]") {
  const TemporaryDirectory dir;
  const std::string path = dir.path() + "/events";

  SECTION("are appended, with those of others") {
    write_file_atomically(path, "before\n");
    const EventsTo events(path);
    CHECK(events_on());
    emit(event::Saved{"out/pass-00001", 7});
    emit_line("{\"event\": \"of another\"}\n");
    const auto lines = lines_of(read_file(path, 1 << 16));
    REQUIRE(lines.size() == 3);
    CHECK(lines[0] == "before");
    CHECK_THAT(lines[1], StartsWith("{\"event\": \"saved\", \"time\": "));
    CHECK_THAT(lines[1], Contains("\"process\": \"" + this_process() + "\""));
    CHECK(lines[2] == "{\"event\": \"of another\"}");
  }
  SECTION("are none without a file") {
    CHECK_FALSE(events_on());
    emit(event::Saved{"x", 1});
  }
  SECTION("warnings, errors and the end are events") {
    const NoLog quiet;
    const EventsTo events(path);
    log_info("nothing");
    log_warn("careful");
    log_error("broken");
    const int code = run_main("paddle train",
                              []() -> int { throw Error(Error::Kind::data, "line 3: no number"); });
    CHECK(code == 3);
    const auto lines = lines_of(read_file(path, 1 << 16));
    REQUIRE(lines.size() == 3);
    CHECK_THAT(lines[0], Contains(R"("event": "warning")") && Contains(R"("message": "careful")"));
    CHECK_THAT(lines[1], Contains(R"("event": "error")") && Contains(R"("message": "broken")"));
    CHECK_THAT(lines[2], Contains(R"("event": "exit")") && Contains(R"("code": 3)") &&
                             Contains(R"("reason": "paddle train: line 3: no number")"));
  }
  SECTION("a file that cannot be made is an error") {
    CHECK_THROWS_AS(start_events(dir.path() + "/no/such", "trainer"), Error);
    CHECK_FALSE(events_on());
  }
}

TEST_CASE("a full pipe neither blocks nor fails, and what is lost is counted", "[obs]") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const Descriptor read_end(ends[0]), write_end(ends[1]);
  EventWriter writer("/dev/fd/" + std::to_string(ends[1]));
  constexpr int written = 3000;  // a pipe has 64 KiB
  for (int i = 0; i < written; ++i) writer.put(event::Saved{"some/path", i}, trainer);
  std::string taken(1 << 20, '\0');
  const auto read_some = [&] {
    const ssize_t n = ::read(ends[0], taken.data(), taken.size());
    REQUIRE(n > 0);
    return lines_of(taken.substr(0, static_cast<size_t>(n)));
  };
  const auto first = read_some();
  CHECK(first.size() < written);
  CHECK_THAT(first.back(), Contains("\"step\": " + std::to_string(first.size() - 1) + "}"));
  writer.put(event::Saved{"after", 1}, trainer);
  const auto second = read_some();
  REQUIRE(second.size() == 2);
  CHECK_THAT(second[0], Contains("\"event\": \"dropped\"") &&
                            Contains("\"count\": " + std::to_string(written - first.size()) + "}"));
  CHECK_THAT(second[1], Contains("after"));
}

TEST_CASE("a full disk costs the lines that do not fit", "[obs]") {
  const TemporaryDirectory dir;
  const std::string path = dir.path() + "/events";
  EventWriter writer(path);
  writer.put(event::Saved{"one", 1}, trainer);
  const size_t size = read_file(path, 1 << 16).size();
  // The limit on the size of files stands for the end of the disk; its signal is ignored.
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{size + 10, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  writer.put(event::Saved{"two", 2}, trainer);    // ten bytes of it fit
  writer.put(event::Saved{"three", 3}, trainer);  // nothing of it
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);
  writer.put(event::Saved{"four", 4}, trainer);
  const auto lines = lines_of(read_file(path, 1 << 16));
  REQUIRE(lines.size() == 4);
  CHECK_THAT(lines[0], Contains("one"));
  CHECK(lines[1] == R"({"event": )");
  CHECK_THAT(lines[2], Contains("dropped") && Contains("\"count\": 2}"));
  CHECK_THAT(lines[3], Contains("four"));
}

TEST_CASE("docs/events.md shows every event", "[obs]") {
  const char* source = std::getenv("PADDLE_TEST_SOURCE");
  REQUIRE(source != nullptr);
  const std::string page = read_file(std::string(source) + "/docs/events.md", 1 << 20);
  const std::string begin = "<!-- paddle list_events -->\n", end = "<!-- end -->";
  const size_t from = page.find(begin) + begin.size();
  // After a change of obs/event.h: put the output of `paddle list_events` between the two marks.
  CHECK(page.substr(from, page.find(end) - from) == event_tables());
}
