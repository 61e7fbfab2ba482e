#include "options/commands.h"

#include <catch2/catch.hpp>
#include <sstream>

#include "base/error.h"

using namespace paddle;
using Words = std::vector<std::string>;

TEST_CASE("commands", "[options]") {
  Words seen;
  const std::vector<Command> commands = {
      {"train", "Start a training",
       [&](std::span<const std::string> words) {
         seen.assign(words.begin(), words.end());
         return 5;
       }},
      {"version", "Print the version", [](std::span<const std::string>) { return 0; }},
  };
  std::ostringstream out, err;
  const auto run = [&](const Words& words) {
    return run_command("paddle", commands, words, out, err);
  };
  const std::string usage_text =
      "usage: paddle [--help] [<args>]\n"
      "Common commands:\n"
      "    train             Start a training\n"
      "    version           Print the version\n"
      "'paddle <command> --help' explains one of them.\n";

  SECTION("the rest of the words goes to the command, whose code is returned") {
    CHECK(run({"train", "--config", "x", "--help"}) == 5);
    CHECK(seen == Words{"--config", "x", "--help"});
    CHECK(out.str().empty());
  }
  SECTION("help in its forms, and no word at all, prints the usage") {
    CHECK(run(GENERATE(Words{}, Words{"help"}, Words{"--help"}, Words{"-h"},
                       Words{"help", "--help"})) == 0);
    CHECK(out.str() == usage_text);
    CHECK(err.str().empty());
  }
  SECTION("help with a word asks that command") {
    CHECK(run({"help", "train"}) == 5);
    CHECK(seen == Words{"--help"});
    CHECK(run({"help", "trian"}) == 2);
  }
  SECTION("--version is the command") { CHECK(run({"--version"}) == 0); }
  SECTION("an unknown word gets the nearest and the usage on stderr") {
    CHECK(run({"trian"}) == 2);
    CHECK(err.str() == "paddle: unknown command 'trian' (did you mean 'train'?)\n\n" + usage_text);
    CHECK(out.str().empty());
  }
}
