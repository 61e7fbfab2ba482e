#include "base/log_file.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "base/file.h"
#include "base/log.h"
#include "support/pseudo_terminal.h"
#include "support/temporary.h"

using namespace paddle;
using Names = std::vector<std::string>;

namespace {

bool odd_pids_live(int pid) { return pid % 2 == 1; }

size_t files_of(const std::string& directory, const std::string& part) {
  size_t n = 0;
  for (const std::string& name : list_directory(directory))
    if (name.find(part) != std::string::npos) ++n;
  return n;
}

}  // namespace

TEST_CASE("old log files", "[base]") {
  const std::string p = "x.log.INFO.";
  const auto old = [&](const Names& names, size_t keep) {
    return old_log_files(names, p, p + "20260101-000009.20", keep, odd_pids_live);
  };
  SECTION("are the oldest, by date and by number") {
    const Names names{p + "20260101-000001.4", p + "20260101-000002.4", p + "20260101-000002.4.10",
                      p + "20260101-000002.4.9", p + "20260101-000009.20"};
    CHECK(old(names, 5).empty());
    CHECK(old(names, 3) == Names{p + "20260101-000001.4", p + "20260101-000002.4"});
    CHECK(old(names, 1).back() == p + "20260101-000002.4.10");
  }
  SECTION("are not those of a living process, another program or the present one") {
    CHECK(
        old({p + "20260101-000001.3", "y.log.INFO.20260101-000001.4", p + "20260101-000009.20"}, 1)
            .empty());
  }
  SECTION("of the same number are of a process before") {
    CHECK(old({p + "20260101-000001.20", p + "20260101-000009.20"}, 1) ==
          Names{p + "20260101-000001.20"});
  }
}

TEST_CASE("a log in files", "[base]") {
  const TemporaryDirectory directory;
  const LogFileOptions options{
      .program = "p", .directory = directory.path(), .max_bytes = 1000, .max_files = 3};

  SECTION("goes on in a next file when one is full, and keeps so many") {
    LogFile file(options, "INFO");
    CHECK(file.path().empty());
    for (int i = 0; i < 100; ++i) file.write(std::string(99, 'a' + i % 26) + "\n");
    CHECK(files_of(directory.path(), ".log.INFO.") == 3);
    CHECK_THAT(read_file(directory.path() + "/p.INFO", 9999), Catch::Contains("vvvvv"));
    for (const std::string& name : list_directory(directory.path()))
      CHECK(std::filesystem::file_size(directory.path() + "/" + name) <= 1000);
  }
  SECTION("does not cut a line that is longer than a file") {
    LogFile file(options, "INFO");
    file.write(std::string(5000, 'x') + "\n");
    CHECK_THAT(read_file(file.path(), 9999), Catch::Contains(std::string(5000, 'x') + "\n"));
  }
  SECTION("has warnings and errors in files of their own, from the first one on") {
    Pipe pipe;
    start_log({.program = "p", .log_dir = directory.path(), .descriptor = pipe.device()});
    log_info("one");
    CHECK(files_of(directory.path(), "WARNING") == 0);
    log_warn("two");
    log_error("three");
    log_exit_reason("four");
    start_log({});
    const auto text = [&](const char* level) {
      return read_file(directory.path() + "/p." + level, 9999);
    };
    for (const char* word : {"] one\n", "] two\n", "] three\n", "] four\n"})
      CHECK_THAT(text("INFO"), Catch::Contains(word));
    CHECK_THAT(text("WARNING"), !Catch::Contains("one") && Catch::Contains("] two\n") &&
                                    Catch::Contains("] three\n"));
    CHECK_THAT(text("ERROR"), !Catch::Contains("two") && Catch::Contains("] three\n") &&
                                  Catch::Contains("] four\n"));
  }
}
