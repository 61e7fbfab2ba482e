// The log of the process: lines like `I1116 09:10:17.123121    50 file.cc:155] message` on stderr
// and in a file. On a terminal people read something shorter (Screen). It owns the terminal's last
// line too, so that log lines and a progress line never overwrite each other. Every function may be
// called from any thread, start_log() only while no other thread logs. Nothing here throws but
// start_log().
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace paddle {

// What a terminal shows of the log. Files and pipes get whole log lines, whatever is chosen here.
enum class Screen {
  lines,     // whole log lines
  messages,  // "09:10:17 message": for a program that serves
  warnings,  // warnings and errors, without their prefix; and what log_note() and show_line() give
};

struct LogOptions {
  std::string program = "paddle";       // names the file
  std::string log_dir;                  // "" = no file
  uint64_t max_file_bytes = 100 << 20;  // then a next file follows
  size_t max_files = 10;                // that are kept of each severity
  bool to_stderr = true;                // false: only errors go there
  int min_level = 0;   // 0 information, 1 warnings, 2 errors, 3 fatal errors and more
  int verbosity = 0;   // log_detail() logs up to this level
  int descriptor = 2;  // in place of stderr
  bool draws = true;   // false: a terminal is written to like a file (TERM=dumb)
  Screen screen = Screen::lines;
};

// Until it is called, everything goes to stderr. With a log_dir it makes the file
// `<program>.<host>.<user>.log.INFO.<date-time>.<pid>` there and points the link `<program>.INFO`
// to it; throws Error(io) where that cannot be done. The first warning makes a file WARNING beside
// it, the first error a file ERROR (base/log_file.h).
void start_log(const LogOptions& options);

// The file that gets the lines now, or "".
std::string log_file();

// The place of a call. Not std::source_location, which clang knows from version 16 on.
struct Where {
  const char* file;
  int line;
  static constexpr Where current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};
void log_info(const std::string& message, Where where = Where::current());
// The same for what a status line already shows: on a terminal it goes into the file alone.
void log_progress(const std::string& message, Where where = Where::current());
// The same for what people want to know: it is a log line, and stands alone on a terminal.
void log_note(const std::string& message, Where where = Where::current());
void log_warn(const std::string& message, Where where = Where::current());
void log_error(const std::string& message, Where where = Where::current());
// Details for debugging.
void log_detail(int level, const std::string& message, Where where = Where::current());

// Why the process ends, for its user: the sentence alone on stderr, a fatal line in the file.
void log_exit_reason(const std::string& message, Where where = Where::current());

// Called with every warning and error that is logged, in the thread that logs; null: none. To be
// set before other threads log.
enum class LogLevel { warning, error };
void set_log_observer(std::function<void(LogLevel level, const std::string& message)> observer);

// Whether there is a terminal to draw on, and its columns (80 where it does not say).
bool log_on_terminal();
int log_columns();
// A line for people, above the status line; nothing where whole log lines are written.
void show_line(const std::string& line);
// Shows `line` (UTF-8, not wider than the terminal) below everything logged, in place of the one
// shown before; "" removes it. Where there is no terminal it only ends a line of dots.
void show_status(const std::string& line);
// A dot for a batch, outside a status line; the next log line starts on a line of its own.
void show_dot();

}  // namespace paddle
