#include "base/log.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <regex>
#include <sstream>
#include <thread>
#include <vector>

#include "base/file.h"
#include "support/pseudo_terminal.h"
#include "support/small_disk.h"
#include "support/temporary.h"

using namespace paddle;
using Catch::Contains;

namespace {

const std::string prefix =
    R"([IWEF](0[1-9]|1[0-2])([0-2][0-9]|3[01]) [0-2]\d:[0-5]\d:[0-6]\d\.\d{6} [ \d]{4}\d+ log_test\.cc:\d+\] )";

// The log as it was before a test began, whatever way it ends.
struct Restore {
  ~Restore() { start_log({}); }
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("log lines", "[base]") {
  const Restore restore;
  Pipe pipe;
  LogOptions options{.descriptor = pipe.device()};

  SECTION("have severity, date, time, thread, file and line before the message") {
    start_log(options);
    log_info("one {} %d");
    log_warn("two");
    log_error("three");
    log_note("four");
    const auto lines = lines_of(pipe.read());
    REQUIRE(lines.size() == 4);
    const std::string severities = "IWEI", words[] = {"one \\{\\} %d", "two", "three", "four"};
    for (size_t i = 0; i < 4; ++i) {
      CHECK(lines[i][0] == severities[i]);
      CHECK(std::regex_match(lines[i], std::regex(prefix + words[i])));
    }
    char place[64];
    std::snprintf(place, sizeof place, " %5d log_test.cc:", ::gettid());
    CHECK_THAT(lines[0], Contains(place));
  }
  SECTION("below the least level are not written") {
    options.min_level = 2;
    start_log(options);
    log_info("a");
    log_warn("b");
    CHECK(pipe.read().empty());
    log_error("c");
    CHECK_THAT(pipe.read(), Contains("] c\n"));
  }
  SECTION("of more detail than asked for are not written") {
    options.verbosity = 2;
    start_log(options);
    log_detail(3, "fine");
    CHECK(pipe.read().empty());
    log_detail(2, "coarse");
    CHECK_THAT(pipe.read(), Contains("] coarse\n"));
  }
  SECTION("without stderr leave only errors there") {
    options.to_stderr = false;
    start_log(options);
    log_warn("b");
    CHECK(pipe.read().empty());
    log_error("c");
    CHECK_THAT(pipe.read(), Contains("] c\n"));
  }
  SECTION("start on a line of their own after dots") {
    start_log(options);
    show_dot();
    show_dot();
    log_info("a");
    log_info("b");
    CHECK(
        std::regex_match(pipe.read(), std::regex("\\.\\.\\n" + prefix + "a\\n" + prefix + "b\\n")));
  }
  SECTION("dots end where the status is taken away") {
    start_log(options);
    show_dot();
    show_status("");
    show_status("");
    CHECK(pipe.read() == ".\n");
  }
  SECTION("stay whole when many threads write") {
    start_log(options);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([] {
        for (int i = 0; i < 50; ++i) log_info("message");
      });
    for (std::thread& t : threads) t.join();
    const auto lines = lines_of(pipe.read());
    CHECK(lines.size() == 200);
    const std::regex whole(prefix + "message");
    for (const std::string& line : lines) CHECK(std::regex_match(line, whole));
  }
  SECTION("show no status where there is no terminal") {
    start_log(options);
    CHECK_FALSE(log_on_terminal());
    show_status("50 %");
    show_status("");
    CHECK(pipe.read().empty());
  }
}

TEST_CASE("log files", "[base]") {
  const Restore restore;
  const TemporaryDirectory directory;
  Pipe pipe;
  const std::string log_dir = directory.path() + "/a/log", link = log_dir + "/paddle_trainer.INFO";
  const LogOptions options{
      .program = "paddle_trainer", .log_dir = log_dir, .descriptor = pipe.device()};

  SECTION("are made with their directory, and found by a short link") {
    start_log(options);
    log_info("hello");
    CHECK_THAT(read_file(link, 9999), Contains("] hello\n"));
    CHECK_THAT(pipe.read(), Contains("] hello\n"));
    const std::string name = std::filesystem::read_symlink(link).string();
    CHECK(std::regex_match(
        name, std::regex(R"(paddle_trainer\.[^/]+\.[^/]+\.log\.INFO\.\d{8}-\d{6}\.\d+)")));
    CHECK(log_file() == log_dir + "/" + name);
  }
  SECTION("the link follows the newest") {
    make_directories(log_dir);
    REQUIRE(::symlink("older", link.c_str()) == 0);
    start_log(options);
    CHECK(std::filesystem::read_symlink(link).string() != "older");
    CHECK(list_directory(log_dir).size() == 2);
  }
  SECTION("the exit reason is alone on stderr and a fatal line in the file") {
    start_log(options);
    log_exit_reason("paddle train: it is over");
    CHECK(pipe.read() == "paddle train: it is over\n");
    CHECK(std::regex_search(read_file(link, 9999),
                            std::regex("\nF\\d{4} .*\\] paddle train: it is over\n")));
  }
  SECTION("take a status line alone where one is drawn") {
    PseudoTerminal terminal;
    LogOptions drawn = options;
    drawn.descriptor = terminal.device();
    start_log(drawn);
    log_progress("Batch=100");
    CHECK(terminal.read().empty());
    CHECK_THAT(read_file(link, 9999), Contains("log_test.cc:") && Contains("] Batch=100\n"));
    drawn.draws = false;  // and elsewhere go on beside it
    start_log(drawn);
    CHECK_FALSE(log_on_terminal());
    log_progress("Batch=200");
    CHECK_THAT(terminal.read(), Contains("] Batch=200\r\n"));
    CHECK_THAT(read_file(link, 9999), Contains("] Batch=200\n"));
  }
  SECTION("where they cannot be made the error says why") {
    write_file_atomically(directory.path() + "/a", "file");
    CHECK_THROWS_WITH(start_log(options), Contains("cannot make the directory '" + log_dir + "'"));
  }
  SECTION("a full disk is reported once and ends nothing") {
    const SmallDisk disk;
    if (!disk.mounted()) {
      WARN("no right to mount a small disk here: this section did not run");
      return;
    }
    LogOptions small = options;
    small.log_dir = disk.path();
    small.to_stderr = false;
    start_log(small);
    for (int i = 0; i < 1000; ++i) log_info(std::string(500, 'x'));
    const auto lines = lines_of(pipe.read());
    REQUIRE(lines.size() == 1);
    CHECK_THAT(lines[0], Contains("the log file cannot be written") && Contains("No space left"));
  }
}

TEST_CASE("the status line of a terminal", "[base]") {
  const Restore restore;
  PseudoTerminal terminal(60);
  start_log({.descriptor = terminal.device()});
  CHECK(log_on_terminal());
  CHECK(log_columns() == 60);

  SECTION("is drawn in place, and again below each log line") {
    show_status("10 %");
    CHECK(terminal.read() == "\r\x1b[K10 %");
    show_status("10 %");  // nothing new
    CHECK(terminal.read().empty());
    show_status("20 %");
    CHECK(terminal.read() == "\r\x1b[K20 %");
    log_info("news");
    CHECK(std::regex_match(terminal.read(), std::regex("\r\x1b\\[K" + prefix + "news\r\n20 %")));
    show_status("");
    CHECK(terminal.read() == "\r\x1b[K");
    log_info("more");
    CHECK(std::regex_match(terminal.read(), std::regex(prefix + "more\r\n")));
  }
  SECTION("does not run into dots") {
    show_dot();
    show_status("10 %");
    CHECK(terminal.read() == ".\r\n\r\x1b[K10 %");
  }
  SECTION("goes before the exit reason") {
    show_status("10 %");
    terminal.read();
    log_exit_reason("the end");
    CHECK(terminal.read() == "\r\x1b[Kthe end\r\n");
  }
}

TEST_CASE("log on a terminal for people", "[base]") {
  const Restore restore;
  const TemporaryDirectory dir;
  PseudoTerminal terminal(40);
  LogOptions options{.log_dir = dir.path(), .descriptor = terminal.device()};

  SECTION("warnings and notes without a prefix; the file has everything") {
    options.screen = Screen::warnings;
    start_log(options);
    log_info("detail");
    log_note("the model is in output");
    log_warn("something that takes more than the forty columns of this terminal");
    log_error("bad");
    show_line("pass 1/2");
    CHECK(terminal.read() ==
          "the model is in output\r\n"
          "warning: something that takes more than\r\n"
          "  the forty columns of this terminal\r\n"
          "error: bad\r\n"
          "pass 1/2\r\n");
    const std::string file = read_file(log_file(), 1 << 20);
    for (const char* line :
         {"] detail\n", "] the model is in output\n", "] something that takes more"})
      CHECK_THAT(file, Contains(line));
    CHECK_THAT(file, !Contains("pass 1/2"));
  }
  SECTION("messages with the time") {
    options.screen = Screen::messages;
    start_log(options);
    log_info("trainer 0 joined");
    log_warn("trainer 1 is lost");
    CHECK(std::regex_match(terminal.read(),
                           std::regex("\\d\\d:\\d\\d:\\d\\d trainer 0 joined\r\n"
                                      "\\d\\d:\\d\\d:\\d\\d warning: trainer 1 is lost\r\n")));
  }
  SECTION("without stderr only errors") {
    options.screen = Screen::warnings;
    options.to_stderr = false;
    start_log(options);
    log_warn("a");
    log_note("b");
    show_line("c");
    log_error("d");
    CHECK(terminal.read() == "error: d\r\n");
  }
  SECTION("a terminal that cannot draw, and a pipe, get log lines") {
    options.screen = Screen::warnings;
    options.draws = false;
    start_log(options);
    log_info("detail");
    log_note("note");
    show_line("pass 1/2");
    const auto lines = lines_of(terminal.read());
    REQUIRE(lines.size() == 2);
    CHECK_THAT(lines[0], Contains("] detail"));
    CHECK_THAT(lines[1], Contains("] note"));
  }
}
