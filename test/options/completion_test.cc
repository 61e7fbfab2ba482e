#include "options/completion.h"

#include <catch2/catch.hpp>

#include "base/error.h"

using namespace paddle;
using Catch::Contains;

namespace completion_test {

std::vector<Command> commands() {
  return {{"train", "Start a job", nullptr,
           [] {
             return OptionTable{
                 {"config", OptionType::text, "", "The job's file [JSON]; more", "Group"},
                 {"verbose", OptionType::flag, "false", "Say more", "Group"}};
           }},
          {"version", "Print the version", nullptr}};
}

TEST_CASE("completion scripts name commands and flags", "[options]") {
  const std::string bash = completion_script("bash", "paddle", commands());
  CHECK_THAT(bash, Contains("compgen -W 'train version'"));
  CHECK_THAT(bash, Contains("train) flags='--config= --verbose' ;;"));
  const std::string zsh = completion_script("zsh", "paddle", commands());
  CHECK_THAT(zsh, Contains("'train:Start a job'"));
  CHECK_THAT(zsh, Contains("'--config=-[The job\"s file (JSON)]:value:_files'"));
  const std::string fish = completion_script("fish", "paddle", commands());
  CHECK_THAT(fish, Contains("-a version -d 'Print the version'"));
  CHECK_THAT(fish, Contains("-l config -r -d 'The job\"s file (JSON)'"));
  CHECK_THAT(fish, Contains("-l verbose -d 'Say more'"));
  CHECK_THROWS_WITH(completion_script("tcsh", "paddle", commands()), Contains("bash, zsh or fish"));
}

}  // namespace completion_test
