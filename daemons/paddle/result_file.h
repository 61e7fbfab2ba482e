// What a command writes for the user: a file that appears whole or not at all, or stdout.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace paddle {

class ResultFile {
 public:
  // "" is stdout. Throws Error(io), as all calls do.
  explicit ResultFile(const std::string& path);
  ~ResultFile();  // what is not finished is removed
  ResultFile(const ResultFile&) = delete;
  ResultFile& operator=(const ResultFile&) = delete;

  void write(std::string_view bytes);
  // Brings it to the disk and gives it its name.
  void finish();

 private:
  std::string name() const { return path_.empty() ? "stdout" : path_; }
  std::string unfinished() const { return path_ + ".unfinished"; }
  std::FILE* stream() const { return file_ ? file_ : stdout; }

  std::string path_;
  std::FILE* file_ = nullptr;
};

}  // namespace paddle
