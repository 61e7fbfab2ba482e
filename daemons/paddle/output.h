// What the processes of a job write to stdout and stderr: each line with the name of its process,
// in a colour of its own, above one status line for all, where that is asked for; and the whole of
// it in files.
#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "base/terminal.h"
#include "options/environment.h"
#include "paddle/lines.h"

namespace paddle {

// Whether to use colours on a terminal: NO_COLOR is not set, and TERM is not dumb.
bool wants_colour(const Environment& environment);

// A line that the log wrote: `I1116 09:10:17.123121    50 file.cc:155] message`. Its letter, or 0
// for any other line; and its message, or the line itself.
char log_letter(std::string_view line);
std::string_view log_message(std::string_view line);

class Output {
 public:
  // Besides the file: every line, what is not information, or nothing.
  enum class Show { all, warnings, nothing };
  struct Look {
    size_t name_width = 0;  // of the widest name
    int colour = 0;         // of the name: an SGR number, 0 for none
    Show show = Show::all;
  };

  // `path` gets all bytes as they come; throws Error(io) where it cannot be made.
  Output(Terminal& terminal, const std::string& name, const std::string& path, Look look);

  void take(std::string_view bytes);
  void finish();  // shows the last line, where no newline came

  const std::string& path() const { return path_; }
  // The lines after the last one of its log, or that line's message; "" where it wrote nothing.
  std::string last_lines() const;

 private:
  void show(std::string line);
  void keep(std::string_view bytes);

  Terminal& terminal_;
  std::string name_, path_, prefix_;
  Descriptor file_;
  bool file_failed_ = false;
  Look look_;
  Lines lines_;
  std::deque<std::string> latest_;  // the last lines that are complete
};

}  // namespace paddle
