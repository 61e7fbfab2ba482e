#include "options/program.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <sstream>

#include "base/file.h"
#include "base/log.h"
#include "options/tables.h"
#include "support/temporary.h"

using namespace paddle;
using Catch::Contains;
using Words = std::vector<std::string>;

TEST_CASE("program start", "[options]") {
  const auto parse = [](const Words& words) {
    return Options::parse(words, {}, trainer_options());
  };
  std::ostringstream out;

  SECTION("answers help, version and print_config, and only when asked") {
    CHECK_FALSE(answer_help(parse({}), "usage: x", out));
    CHECK_FALSE(answer_print_config(parse({}), out));
    CHECK(out.str().empty());
    CHECK(answer_help(parse({"--help"}), "usage: x", out));
    CHECK_THAT(out.str(), Catch::StartsWith("usage: x\n") && Contains("--num_passes=100"));
    out.str("");
    CHECK(answer_help(parse({"--version"}), "usage: x", out));
    CHECK_THAT(out.str(), Catch::StartsWith("PaddlePaddle "));
    out.str("");
    CHECK(answer_print_config(parse({"--print_config", "--seed=3"}), out));
    CHECK_THAT(out.str(), Contains("seed=3 "));
  }
  SECTION("logs the command line first") {
    const TemporaryDirectory directory;
    const Words words{"--workspace=" + directory.path(), "--logtostderr=0", "--seed=3"};
    begin_log(parse(words), "paddle_trainer", words);
    CHECK_THAT(read_file(directory.path() + "/log/paddle_trainer.INFO", 9999),
               Contains("] commandline: paddle_trainer --workspace=" + directory.path() +
                        " --logtostderr=0 --seed=3 \n"));
    start_log({});
  }
  SECTION("a log directory that was asked for must be usable") {
    const TemporaryDirectory directory;
    write_file_atomically(directory.path() + "/file", "x");
    const Words words{"--log_dir=" + directory.path() + "/file"};
    CHECK_THROWS_WITH(begin_log(parse(words), "paddle_trainer", words), Contains("/file'"));
  }
}
