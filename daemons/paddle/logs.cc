// paddle logs: what the processes of a launched job have printed, in the order of time.
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>

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

// A file of paddle launch: the output of one process (server.0.log, train.1.log), or on the machine
// where paddle launch --hosts was started that of all processes of a host (node.0.log).
struct LogSource {
  std::string process;
  bool of_node = false;
  std::ifstream file;
  Lines lines;
  int64_t stamp = 0;
};

std::string process_of(const std::filesystem::path& path) {
  const std::string name = path.stem().string();  // server.0
  if (name == "server" || name.starts_with("server.")) return "p" + name;
  if (name == "train" || name.starts_with("train.")) return "trainer" + name.substr(5);
  return name.starts_with("node.") ? name : "";
}

// What --role and --node leave.
struct LogChoice {
  std::string role;
  int64_t node = -1;  // -1: all

  bool takes_file(const LogSource& source) const {
    if (node >= 0 && source.process != text("node.", node)) return false;
    return source.of_node || takes(source.process);
  }
  bool takes(std::string_view process) const {
    return role.empty() || process.substr(0, process.find('.')) == role;
  }
};

std::vector<LogSource> log_sources(const Options& options, const LogChoice& choice) {
  const std::string& given = options.text("log_dir");
  const std::string directory = given.empty() ? options.text("workspace") + "/log" : given;
  std::vector<LogSource> out;
  bool several_nodes = false;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (entry.path().extension() != ".log" || !entry.is_regular_file()) continue;
    const std::string process = process_of(entry.path());
    if (process.empty()) continue;
    LogSource source{process, process.starts_with("node."), {}, {}, 0};
    several_nodes = several_nodes || source.of_node;
    if (!choice.takes_file(source)) continue;
    source.file.open(entry.path(), std::ios::binary);
    out.push_back(std::move(source));
  }
  require(!out.empty() || choice.node < 0 || several_nodes, Error::Kind::config,
          "--node=", choice.node, ": ", directory,
          " has no logs of several machines; those are where paddle launch --hosts was started");
  require(!out.empty(), Error::Kind::config, "there are no logs of paddle launch in ", directory,
          choice.node < 0 ? "" : text(" of node ", choice.node),
          choice.role.empty() ? "" : " of the role " + choice.role,
          ": give its --workspace (or --log_dir); other processes log where they were started");
  std::sort(out.begin(), out.end(),
            [](const LogSource& a, const LogSource& b) { return a.process < b.process; });
  return out;
}

int64_t stamp_of(time_t time) {
  tm parts{};
  ::localtime_r(&time, &parts);
  char line[32];
  std::strftime(line, sizeof line, "I%m%d %H:%M:%S.000000", &parts);
  return log_stamp(line).value_or(0);
}

std::vector<LoggedLine> new_lines(LogSource& source, const LogChoice& choice, int64_t now) {
  std::vector<LoggedLine> out;
  const auto take = [&](const std::string& line) {
    const auto [process, words] = source.of_node ? without_name(line) : NamedLine{"", line};
    if (const auto stamp = log_stamp(words)) source.stamp = not_after(*stamp, now);
    if (source.of_node && !choice.takes(process)) return;
    out.push_back({process.empty() ? source.process : text(source.process, " | ", process),
                   source.stamp, std::string(words)});
  };
  char bytes[1 << 16];
  source.file.clear();
  while (source.file.read(bytes, sizeof bytes), source.file.gcount() > 0) {
    source.lines.take({bytes, static_cast<size_t>(source.file.gcount())}, take);
    source.file.clear();
  }
  return out;
}

class LogPrinter {
 public:
  LogPrinter(const std::vector<LogSource>& sources, int64_t since, bool colour)
      : since_(since), colour_(colour) {
    for (const LogSource& s : sources)
      if (!s.of_node) place_of(s.process);
  }
  void print(const std::vector<LoggedLine>& lines) {
    for (const LoggedLine& line : lines) place_of(line.process);
    for (const LoggedLine& line : lines)
      if (line.stamp >= since_) print(line);
  }

 private:
  size_t place_of(const std::string& process) {
    const auto at = std::find(names_.begin(), names_.end(), process);
    const auto place = static_cast<size_t>(at - names_.begin());
    if (at == names_.end()) names_.push_back(process);
    width_ = std::max(width_, process.size());
    return place;
  }
  void print(const LoggedLine& line) {
    const std::string blanks(width_ - line.process.size(), ' ');
    if (colour_)
      std::cout << "\x1b[" << log_colours[place_of(line.process) % std::size(log_colours)] << "m"
                << line.process << blanks << " |\x1b[0m " << line.text << "\n";
    else
      std::cout << line.process << blanks << " | " << line.text << "\n";
  }

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
                  "                   [--role=pserver|trainer] [--node=N]\n"
                  "Prints what the processes of paddle launch have printed, in the order of time.",
                  std::cout) ||
      answer_print_config(options, std::cout))
    return 0;
  // Of the year before this one a stamp is below 0.
  int64_t since = std::numeric_limits<int64_t>::min();
  if (const std::string& word = options.text("since"); !word.empty()) {
    const std::optional<double> seconds = parse_duration(word);
    require(seconds.has_value(), Error::Kind::config, "--since=", word,
            " is no time: give 90s, 15m, 2h or 1d");
    const time_t now = ::time(nullptr);
    since = not_after(stamp_of(now - static_cast<time_t>(*seconds)), stamp_of(now));
  }
  const LogChoice choice{options.text("role"), options.integer("node")};
  std::vector<LogSource> sources = log_sources(options, choice);
  const bool colour = ::isatty(STDOUT_FILENO) == 1 && wants_colour(environment);
  LogPrinter printer(sources, since, colour);
  for (;;) {
    const int64_t now = stamp_of(::time(nullptr));
    std::vector<std::vector<LoggedLine>> lines;
    for (LogSource& source : sources) lines.push_back(new_lines(source, choice, now));
    printer.print(merged(std::move(lines)));
    std::cout << std::flush;
    if (!options.flag("follow") || !std::cout || stop_signal() != 0) break;
    ::poll(nullptr, 0, follow_milliseconds);
  }
  stopped_cleanly();
  return 0;
}

}  // namespace paddle
