// paddle logs: what the processes of a launched job have printed, in the order of time.
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "base/error.h"
#include "base/run_main.h"
#include "options/program.h"
#include "options/tables.h"
#include "paddle/commands.h"
#include "paddle/lines.h"
#include "paddle/log_merge.h"
#include "paddle/output.h"

namespace paddle {
namespace {

constexpr int follow_milliseconds = 200;
constexpr int log_colours[] = {36, 32, 33, 35, 34, 96, 92, 93};

// The output of one process, as paddle launch keeps it: server.0.log, train.1.log.
struct LogSource {
  std::string process;
  std::ifstream file;
  Lines lines;
  int64_t stamp = 0;
};

std::string process_of(const std::filesystem::path& path) {
  const std::string name = path.stem().string();  // server.0
  if (name == "server" || name.starts_with("server.")) return "p" + name;
  if (name == "train" || name.starts_with("train.")) return "trainer" + name.substr(5);
  return "";
}

std::vector<LogSource> log_sources(const Options& options) {
  const std::string& given = options.text("log_dir");
  const std::string directory = given.empty() ? options.text("workspace") + "/log" : given;
  const std::string& role = options.text("role");
  std::vector<LogSource> out;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (entry.path().extension() != ".log" || !entry.is_regular_file()) continue;
    const std::string process = process_of(entry.path());
    if (process.empty() || (!role.empty() && process.substr(0, process.find('.')) != role))
      continue;
    out.push_back({process, std::ifstream(entry.path(), std::ios::binary), {}, 0});
  }
  require(!out.empty(), Error::Kind::config, "there are no logs of paddle launch in ", directory,
          role.empty() ? "" : " of the role " + role,
          ": give its --workspace (or --log_dir); other processes log where they were started");
  std::sort(out.begin(), out.end(),
            [](const LogSource& a, const LogSource& b) { return a.process < b.process; });
  return out;
}

std::vector<LoggedLine> new_lines(LogSource& source) {
  std::vector<LoggedLine> out;
  char bytes[1 << 16];
  source.file.clear();
  while (source.file.read(bytes, sizeof bytes), source.file.gcount() > 0) {
    source.lines.take({bytes, static_cast<size_t>(source.file.gcount())},
                      [&](const std::string& line) {
                        source.stamp = log_stamp(line).value_or(source.stamp);
                        out.push_back({source.process, source.stamp, line});
                      });
    source.file.clear();
  }
  return out;
}

// The stamp of a line that is so many seconds old.
int64_t stamp_before(double seconds) {
  const time_t then = ::time(nullptr) - static_cast<time_t>(seconds);
  tm parts{};
  ::localtime_r(&then, &parts);
  char line[32];
  std::strftime(line, sizeof line, "I%m%d %H:%M:%S.000000", &parts);
  return log_stamp(line).value_or(0);
}

class LogPrinter {
 public:
  LogPrinter(const std::vector<LogSource>& sources, int64_t since, bool colour)
      : since_(since), colour_(colour) {
    for (const LogSource& s : sources) names_.push_back(s.process);
    for (const std::string& name : names_) width_ = std::max(width_, name.size());
  }
  void print(const LoggedLine& line) const {
    if (line.stamp < since_) return;
    const auto at = std::find(names_.begin(), names_.end(), line.process) - names_.begin();
    const std::string blanks(width_ - line.process.size(), ' ');
    if (colour_)
      std::cout << "\x1b[" << log_colours[static_cast<size_t>(at) % std::size(log_colours)] << "m"
                << line.process << blanks << " |\x1b[0m " << line.text << "\n";
    else
      std::cout << line.process << blanks << " | " << line.text << "\n";
  }

 private:
  const int64_t since_;
  const bool colour_;
  std::vector<std::string> names_;
  size_t width_ = 0;
};

}  // namespace

int logs_main(std::span<const std::string> arguments) {
  const Environment environment = current_environment();
  const Options options = Options::parse(arguments, environment, logs_options());
  if (answer_help(options,
                  "usage: paddle logs [--workspace=DIR] [--follow] [--since=10m]\n"
                  "                   [--role=pserver|trainer]\n"
                  "Prints what the processes of paddle launch have printed, in the order of time.",
                  std::cout) ||
      answer_print_config(options, std::cout))
    return 0;
  int64_t since = 0;
  if (const std::string& word = options.text("since"); !word.empty()) {
    const std::optional<double> seconds = parse_duration(word);
    require(seconds.has_value(), Error::Kind::config, "--since=", word,
            " is no time: give 90s, 15m, 2h or 1d");
    since = stamp_before(*seconds);
  }
  std::vector<LogSource> sources = log_sources(options);
  const bool colour = ::isatty(STDOUT_FILENO) == 1 && wants_colour(environment);
  const LogPrinter printer(sources, since, colour);
  for (;;) {
    std::vector<std::vector<LoggedLine>> lines;
    for (LogSource& source : sources) lines.push_back(new_lines(source));
    for (const LoggedLine& line : merged(std::move(lines))) printer.print(line);
    std::cout << std::flush;
    if (!options.flag("follow") || !std::cout || stop_signal() != 0) break;
    ::poll(nullptr, 0, follow_milliseconds);
  }
  stopped_cleanly();
  return 0;
}

}  // namespace paddle
