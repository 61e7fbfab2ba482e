// The files of one log, by the names of glog: the lines of one severity and above in
// `<program>.<host>.<user>.log.<LEVEL>.<date-time>.<pid>`, to which the link `<program>.<LEVEL>`
// points. A file that is full is followed by a next one; the oldest are removed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"

namespace paddle {

struct LogFileOptions {
  std::string program, directory;
  uint64_t max_bytes = 100 << 20;  // of a file; a line is never cut
  size_t max_files =
      10;  // of a program and a severity in the directory, the present one among them
};

class LogFile {
 public:
  // `level` is INFO, WARNING or ERROR. Nothing is made before open() or the first line.
  LogFile(LogFileOptions options, std::string level);

  void open();  // throws Error(io)
  // Throws Error(io) where the line cannot be written.
  void write(std::string_view line);
  const std::string& path() const { return path_; }  // of the present file; "" before there is one

 private:
  void begin_file(const std::string& name);
  void remove_oldest() const;

  const LogFileOptions options_;
  const std::string level_;
  std::string first_name_, path_;
  Descriptor file_;
  uint64_t bytes_ = 0;
  int followers_ = 0;
};

// Which of `names`, files of the log that begin with `prefix`, go so that `keep` remain: the
// oldest, but none of `present` and none of another process that `lives(pid)`.
std::vector<std::string> old_log_files(const std::vector<std::string>& names,
                                       const std::string& prefix, const std::string& present,
                                       size_t keep, bool (*lives)(int pid));

}  // namespace paddle
