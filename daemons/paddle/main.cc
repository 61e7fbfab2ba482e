// The front command. Each row is one word after `paddle`, in the order in which the usage text
// lists them.
#include <iostream>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/suggest.h"
#include "base/version.h"
#include "options/commands.h"

namespace paddle {
namespace {

int print_version(std::span<const std::string> words) {
  require(words.empty() || words[0] == "--help", Error::Kind::config,
          "it takes no arguments, but got ", listed(words));
  std::cout << version_block() << std::flush;
  return 0;
}

std::vector<Command> commands() {
  return {
      {"version", "Print the version and how it was compiled", print_version},
      {"help", "Print this text", nullptr},  // run_command() answers it
  };
}

}  // namespace
}  // namespace paddle

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  return paddle::run_command("paddle", paddle::commands(), words, std::cout, std::cerr);
}
