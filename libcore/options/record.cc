#include "options/record.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/file.h"
#include "base/host.h"
#include "base/version.h"
#include "base/wrap.h"

namespace paddle {
namespace {

// About one process, its files and its answers: a repeat has its own.
bool is_of_the_process(const std::string& name) {
  static const char* const names[] = {"workspace",    "log_dir",     "record_file",    "event_file",
                                      "event_dir",    "ready_file",  "help",           "version",
                                      "print_config", "logtostderr", "stop_with_input"};
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

std::string processor() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

std::string time_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char out[32];
  std::strftime(out, sizeof out, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return out;
}

std::string without_secret(const std::string& word) {
  const size_t equals = word.find('=');
  const size_t begin = word.find_first_not_of('-');
  if (begin == std::string::npos || begin == 0) return word;
  const std::string name = word.substr(begin, equals - begin);
  return is_secret(name) ? "--" + name + "=(left out)" : word;
}

}  // namespace

bool is_secret(const std::string& option) {
  for (const char* word : {"token", "password", "secret", "key_file"})
    if (option.find(word) != std::string::npos) return true;
  return false;
}

Notes run_notes(const std::string& program, std::span<const std::string> arguments) {
  std::string command = program, features;
  bool hide = false;  // the value of the word before
  for (const std::string& word : arguments) {
    command += " " + (hide ? "(left out)" : without_secret(word));
    hide = word.starts_with("-") && word.find('=') == std::string::npos &&
           is_secret(word.substr(
               word.find_first_not_of('-') == std::string::npos ? 0 : word.find_first_not_of('-')));
  }
  for (const char c : version_block()) features += c == '\n' ? ',' : c;
  return {{"version", features.substr(0, features.size() - 1)},
          {"command", command},
          {"directory", std::filesystem::current_path().string()},
          {"host", host_name()},
          {"processor", processor()},
          {"started", time_text()}};
}

std::string record_text(const Options& options, const Notes& notes, Recorded which) {
  std::string out;
  for (const auto& [name, value] : notes) out += "# " + name + ": " + one_line(value) + "\n";
  for (const Options::Setting& s : options.settings()) {
    if (is_of_the_process(s.name) || (which == Recorded::given && !s.given)) continue;
    if (is_secret(s.name)) {
      if (s.given) out += "\n# " + s.name + " was given; give your own\n";
      continue;
    }
    out += "\n# " + one_line(s.source) + "\n--" + s.name + "=" + s.value + "\n";
  }
  return out;
}

std::string record_path(const Options& options, const std::string& name) {
  if (!options.text("record_file").empty()) return options.text("record_file");
  if (!options.given("workspace")) return "";
  return options.text("workspace") + "/job/" + name + ".flags";
}

void write_record(Options options, const std::string& name, const Notes& notes,
                  const std::string& job, Recorded which) {
  const std::string path = record_path(options, name);
  if (path.empty()) return;
  const std::filesystem::path directory = std::filesystem::path(path).parent_path();
  if (!directory.empty()) make_directories(directory.string());
  if (!job.empty()) {
    const std::string copy = (directory / "job.json").string();
    write_file_atomically(copy, job);
    options.replace("config", copy, "a copy of " + options.text("config"));
  }
  write_file_atomically(path, record_text(options, notes, which));
}

bool keeps_own_workspace(const Options& options) {
  return options.given("workspace") && !options.given("log_dir");
}

void write_nodefile(const Options& options, size_t number) {
  if (!keeps_own_workspace(options)) return;
  make_directories(options.text("workspace"));
  write_file_atomically(options.text("workspace") + "/nodefile", text(number, "\n"));
}

std::string in_workspace(const Options& options, const std::string& path) {
  const std::string& workspace = options.text("workspace");
  return path.empty() || path[0] == '/' || workspace == "." ? path : workspace + "/" + path;
}

}  // namespace paddle
