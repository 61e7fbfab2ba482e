// The token that a launcher makes for the processes of one job.
#pragma once

#include <string>

namespace paddle {

// A new token in a file that only this user can read; the file is removed with this. "" for the
// path makes none.
class LaunchToken {
 public:
  explicit LaunchToken(std::string path);
  ~LaunchToken();
  LaunchToken(const LaunchToken&) = delete;
  LaunchToken& operator=(const LaunchToken&) = delete;

 private:
  const std::string path_;
};

}  // namespace paddle
