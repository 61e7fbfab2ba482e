// The stderr end of the log: whole lines above a status line that is erased and drawn again around
// them.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

namespace paddle {

class Terminal {
 public:
  // `draws`: false for a terminal that knows no escape sequences (TERM=dumb); it is written to like
  // a file.
  explicit Terminal(int descriptor, bool draws = true);

  // The descriptor is a terminal that can draw, not a file or pipe.
  bool present() const { return present_; }
  int columns() const;
  void set_status(const std::string& line);
  void dot();
  void put_line(std::string_view line);  // with its newline

 private:
  void put(std::string_view bytes);

  int descriptor_;
  bool present_;
  std::mutex mutex_;
  std::string status_;
  bool dots_ = false;  // dots stand in the current line
};

}  // namespace paddle
