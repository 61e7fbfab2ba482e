#include "options/commands.h"

#include <algorithm>

#include "base/error.h"
#include "base/run_main.h"
#include "base/suggest.h"

namespace paddle {

std::string usage(const std::string& program, std::span<const Command> commands) {
  constexpr size_t help_column = 22;
  std::string out = "usage: " + program + " [--help] [<args>]\nCommon commands:\n";
  for (const Command& command : commands) {
    const std::string start = "    " + command.name;
    const size_t blanks = start.size() < help_column ? help_column - start.size() : 1;
    out += start + std::string(blanks, ' ') + command.help + "\n";
  }
  out += "'" + program + " <command> --help' explains one of them.\n";
  const auto topics = std::find_if(commands.begin(), commands.end(), [](const Command& command) {
    return command.name == "help" && command.run;
  });
  if (topics != commands.end())
    out += text("'", program, " help tutorial' begins the documentation, '", program,
                " help topics' lists it.\n");
  return out;
}

int run_command(const std::string& program, std::span<const Command> commands,
                std::span<const std::string> arguments, std::ostream& out, std::ostream& err) {
  std::string word = arguments.empty() ? "help" : arguments[0];
  if (word == "--help" || word == "-h" || word == "-help") word = "help";
  if (word == "--version" || word == "-version") word = "version";
  const auto named = [&](const std::string& name) {
    return std::find_if(commands.begin(), commands.end(),
                        [&](const Command& command) { return command.name == name; });
  };
  bool asks_about_one = word == "help" && arguments.size() > 1 && !arguments[1].starts_with("-");
  const auto topics = named("help");
  if (asks_about_one && named(arguments[1]) == commands.end() && topics != commands.end() &&
      topics->run)
    asks_about_one = false;  // no command: a topic
  else if (word == "help" && !asks_about_one) {
    out << usage(program, commands) << std::flush;
    return 0;
  }
  if (asks_about_one) word = arguments[1];
  const auto found = named(word);
  if (found != commands.end()) {
    const std::vector<std::string> help{"--help"};
    const auto rest = asks_about_one ? std::span(help) : arguments.subspan(1);
    return run_main(program + " " + word, [&] { return found->run(rest); });
  }
  std::vector<std::string> names{"help"};
  for (const Command& command : commands) names.push_back(command.name);
  err << program << ": unknown command '" << word << "'" << did_you_mean(word, names) << "\n\n"
      << usage(program, commands) << std::flush;
  return exit_code(Error::Kind::config);
}

}  // namespace paddle
