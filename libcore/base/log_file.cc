#include "base/log_file.h"

#include <pwd.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <tuple>

#include "base/file.h"
#include "base/host.h"

namespace paddle {
namespace {

constexpr std::string_view first_line =
    "Log line format: [IWEF]mmdd hh:mm:ss.uuuuuu threadid file:line] msg\n";

std::string user_name() {
  const passwd* user = ::getpwuid(::getuid());
  return user != nullptr ? user->pw_name : "unknown";
}

std::string prefix_of(const std::string& program, const std::string& level) {
  return program + "." + host_name() + "." + user_name() + ".log." + level + ".";
}

std::string date_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::localtime_r(&now, &parts);
  char date[32];
  std::strftime(date, sizeof date, "%Y%m%d-%H%M%S", &parts);
  return date;
}

bool process_lives(int pid) { return ::kill(pid, 0) == 0 || errno != ESRCH; }

// `<date-time>.<pid>` or `<date-time>.<pid>.<n>`, as a name ends.
struct FileAge {
  std::string date;
  int pid = 0, follower = 0;
  auto key() const { return std::tie(date, pid, follower); }
};

FileAge age_of(std::string_view rest) {
  FileAge age;
  const size_t dot = rest.find('.');
  age.date = rest.substr(0, dot);
  if (dot == std::string_view::npos) return age;
  char* end = nullptr;
  const std::string numbers(rest.substr(dot + 1));
  age.pid = static_cast<int>(std::strtol(numbers.c_str(), &end, 10));
  if (*end == '.') age.follower = std::atoi(end + 1);
  return age;
}

}  // namespace

std::vector<std::string> old_log_files(const std::vector<std::string>& names,
                                       const std::string& prefix, const std::string& present,
                                       size_t keep, bool (*lives)(int pid)) {
  const int own = age_of(present.substr(std::min(prefix.size(), present.size()))).pid;
  std::vector<std::pair<FileAge, std::string>> old;
  size_t all = 0;
  for (const std::string& name : names) {
    if (!name.starts_with(prefix)) continue;
    ++all;
    FileAge age = age_of(std::string_view(name).substr(prefix.size()));
    // Another process of this number has ended, or we would not have it.
    if (name != present && (age.pid == own || !lives(age.pid))) old.emplace_back(age, name);
  }
  std::sort(old.begin(), old.end(),
            [](const auto& a, const auto& b) { return a.first.key() < b.first.key(); });
  old.resize(std::min(old.size(), all > keep ? all - keep : 0));
  std::vector<std::string> out;
  for (const auto& [age, name] : old) out.push_back(name);
  return out;
}

LogFile::LogFile(LogFileOptions options, std::string level)
    : options_(std::move(options)),
      level_(std::move(level)),
      first_name_(prefix_of(options_.program, level_) + date_text() + "." +
                  std::to_string(::getpid())) {}

void LogFile::open() {
  if (path_.empty()) begin_file(first_name_);
}

void LogFile::write(std::string_view line) {
  open();
  if (bytes_ + line.size() > options_.max_bytes && bytes_ > first_line.size()) {
    try {
      begin_file(first_name_ + "." + std::to_string(++followers_));
    } catch (const Error&) {
      bytes_ = 0;  // the present file takes as much again
    }
  }
  write_all(file_.get(), line, path_);
  bytes_ += line.size();
}

void LogFile::begin_file(const std::string& name) {
  const std::string path = options_.directory + "/" + name;
  Descriptor file = open_to_append(path);
  struct stat status {};
  bytes_ = ::fstat(file.get(), &status) == 0 ? static_cast<uint64_t>(status.st_size) : 0;
  if (bytes_ == 0) {
    write_all(file.get(), first_line, path);
    bytes_ = first_line.size();
  }
  file_ = std::move(file);
  path_ = path;
  point_link(name, options_.directory + "/" + options_.program + "." + level_);
  remove_oldest();
}

void LogFile::remove_oldest() const {
  const std::string name = path_.substr(options_.directory.size() + 1);
  for (const std::string& old :
       old_log_files(list_directory(options_.directory), prefix_of(options_.program, level_), name,
                     options_.max_files, process_lives))
    ::unlink((options_.directory + "/" + old).c_str());
}

}  // namespace paddle
