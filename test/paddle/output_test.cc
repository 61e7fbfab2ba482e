#include "paddle/output.h"

#include <fcntl.h>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "base/file.h"
#include "support/temporary.h"

using namespace paddle;

namespace {

// A file in the place of the screen.
struct ShownFile {
  explicit ShownFile(const std::string& path)
      : out(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600)), path_(path) {
    REQUIRE(out);
  }
  // What was shown since the last call.
  std::string text() {
    const std::string all = read_file(path_, 1 << 20);
    const std::string fresh = all.substr(seen_);
    seen_ = all.size();
    return fresh;
  }
  Descriptor out;

 private:
  std::string path_;
  size_t seen_ = 0;
};

}  // namespace

TEST_CASE("output of a process", "[paddle]") {
  const TemporaryDirectory dir;
  ShownFile screen(dir.path() + "/screen");
  Terminal terminal(screen.out.get());
  const std::string info = "I1116 09:10:17.123121    50 train.cc:122] ";

  SECTION("lines are whole, prefixed, and kept in the file as they came") {
    Output output(terminal, "trainer.1", dir.path() + "/train.log", {.name_width = 10});
    output.take("one\ntw");
    output.take("o\n\nthree");
    CHECK(screen.text() == "trainer.1  | one\ntrainer.1  | two\ntrainer.1  | \n");
    output.finish();
    CHECK(screen.text() == "trainer.1  | three\n");
    CHECK(read_file(dir.path() + "/train.log", 100) == "one\ntwo\n\nthree");
  }
  SECTION("in colour") {
    Output output(terminal, "pserver.0", dir.path() + "/s.log", {.colour = 35});
    output.take("x\n");
    CHECK(screen.text() == "\x1b[35mpserver.0 |\x1b[0m x\n");
  }
  SECTION("quiet: no information") {
    Output output(terminal, "t", dir.path() + "/s.log", {.show = Output::Show::warnings});
    output.take(info + "a\nW" + info.substr(1) + "b\nc\n");
    CHECK(screen.text() == "t | W" + info.substr(1) + "b\nt | c\n");
  }
  SECTION("nothing is shown, and all of it is in the file") {
    Output output(terminal, "t", dir.path() + "/s.log", {.show = Output::Show::nothing});
    output.take(info + "a\nW" + info.substr(1) + "b\nc\n");
    CHECK(screen.text().empty());
    CHECK(read_file(dir.path() + "/s.log", 1 << 10) == info + "a\nW" + info.substr(1) + "b\nc\n");
    CHECK(output.last_lines() == "c");
  }
  SECTION("the last lines are what follows the log") {
    Output output(terminal, "t", dir.path() + "/s.log", {});
    CHECK(output.last_lines().empty());
    output.take(info + "going on\n");
    CHECK(output.last_lines() == "going on");
    output.take("\npaddle trainer: 2 problems:\n  a\n  b\n");
    CHECK(output.last_lines() == "paddle trainer: 2 problems:\n  a\n  b");
  }
  SECTION("a line without end is shown in parts") {
    Output output(terminal, "t", dir.path() + "/s.log", {});
    output.take(std::string(1 << 16, 'x'));
    CHECK(screen.text().size() == 4 + (1 << 16) + 1);  // "t | " before it, and a newline
  }
  SECTION("a file that cannot be made is an error") {
    CHECK_THROWS_AS(Output(terminal, "t", dir.path() + "/no/such.log", {}), Error);
  }
}

TEST_CASE("log lines and colours", "[paddle]") {
  CHECK(log_letter("W1116 09:10:17.123121    50 a.cc:1] m") == 'W');
  CHECK(log_message("W1116 09:10:17.123121    50 a.cc:1]  m") == " m");
  CHECK(log_letter("I am no log line] x") == '\0');
  CHECK(log_letter("I1116") == '\0');
  CHECK(log_message("bare") == "bare");
  CHECK(wants_colour({}));
  CHECK_FALSE(wants_colour({{"NO_COLOR", "1"}}));
  CHECK_FALSE(wants_colour({{"TERM", "dumb"}}));
}
