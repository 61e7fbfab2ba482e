// The token that a launcher makes for the processes of one job.
#pragma once

#include <string>

namespace paddle {

// A token in a file that only this user can read; the file is removed with this. It is a new one,
// or the first line of the input. "" for the path makes none. Throws Error.
class LaunchToken {
 public:
  LaunchToken(std::string path, bool from_input);
  ~LaunchToken();
  LaunchToken(const LaunchToken&) = delete;
  LaunchToken& operator=(const LaunchToken&) = delete;

 private:
  const std::string path_;
};

}  // namespace paddle
