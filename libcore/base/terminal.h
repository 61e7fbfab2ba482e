// The stderr end of the log: whole lines above a status line that is erased and drawn again around
// them.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

namespace paddle {

class Terminal {
 public:
  explicit Terminal(int descriptor);

  bool present() const { return present_; }  // the descriptor is a terminal, not a file or pipe
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
