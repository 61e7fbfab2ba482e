#include "base/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <ctime>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/log_file.h"
#include "base/terminal.h"
#include "base/wrap.h"

namespace paddle {
namespace {

using spdlog::level::level_enum;

// spdlog calls its highest level C; readers of such logs know F.
class Letter : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    out.push_back("DDIWEFX"[message.level]);
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<Letter>();
  }
};

std::unique_ptr<spdlog::formatter> line_formatter() {
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<Letter>('*').set_pattern("%*%m%d %H:%M:%S.%f %5t %s:%#] %v");
  return formatter;
}

std::string clock_text(spdlog::log_clock::time_point time) {
  const std::time_t seconds = spdlog::log_clock::to_time_t(time);
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  char out[16];
  std::strftime(out, sizeof out, "%H:%M:%S ", &parts);
  return out;
}

class TerminalSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  TerminalSink(std::shared_ptr<Terminal> terminal, Screen screen)
      : terminal_(std::move(terminal)), screen_(screen) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (screen_ != Screen::lines) return terminal_->put_line(for_people(message) + "\n");
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    terminal_->put_line(std::string_view(line.data(), line.size()));
  }
  void flush_() override {}  // every line is written at once

 private:
  std::string for_people(const spdlog::details::log_msg& message) const {
    std::string line = screen_ == Screen::messages ? clock_text(message.time) : "";
    const size_t indent = std::max<size_t>(line.size(), 2);
    if (message.level == level_enum::warn) line += "warning: ";
    if (message.level == level_enum::err) line += "error: ";
    line.append(message.payload.data(), message.payload.size());
    return wrapped(line, terminal_->columns(), indent);
  }

  std::shared_ptr<Terminal> terminal_;
  const Screen screen_;
};

class FileSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit FileSink(const LogFileOptions& options)
      : info_(options, "INFO"), warning_(options, "WARNING"), error_(options, "ERROR") {
    info_.open();
  }
  std::string path() {
    const std::lock_guard<std::mutex> alone(mutex_);
    return info_.path();
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    const std::string_view bytes(line.data(), line.size());
    info_.write(bytes);
    if (message.level >= level_enum::warn) warning_.write(bytes);
    if (message.level >= level_enum::err) error_.write(bytes);
  }
  void flush_() override {}  // every line is written at once

 private:
  LogFile info_, warning_, error_;
};

struct Log {
  std::shared_ptr<Terminal> terminal;  // shared with the sink and the handler of failed writes
  std::shared_ptr<FileSink> file;
  std::shared_ptr<spdlog::logger> logger;
  int verbosity = 0;
  Screen screen = Screen::lines;  // lines where there is no terminal
  bool to_screen = true;
};

std::function<void(LogLevel, const std::string&)>& log_observer() {
  static std::function<void(LogLevel, const std::string&)> observer;
  return observer;
}

void observe(LogLevel level, const std::string& message) {
  if (log_observer()) log_observer()(level, message);
}

Log make_log(const LogOptions& options) {
  Log log;
  log.terminal = std::make_shared<Terminal>(options.descriptor, options.draws);
  log.screen = log.terminal->present() ? options.screen : Screen::lines;
  log.to_screen = options.to_stderr;
  const auto sink = std::make_shared<TerminalSink>(log.terminal, log.screen);
  sink->set_formatter(line_formatter());
  const auto least = log.screen == Screen::warnings ? level_enum::warn : level_enum::info;
  sink->set_level(options.to_stderr ? least : level_enum::err);
  std::vector<spdlog::sink_ptr> sinks{sink};
  if (!options.log_dir.empty()) {
    log.file = std::make_shared<FileSink>(LogFileOptions{
        options.program, options.log_dir, options.max_file_bytes, options.max_files});
    log.file->set_formatter(line_formatter());
    sinks.push_back(log.file);
  }
  log.logger = std::make_shared<spdlog::logger>(options.program, sinks.begin(), sinks.end());
  log.logger->set_level(static_cast<level_enum>(level_enum::info + std::max(0, options.min_level)));
  log.logger->flush_on(level_enum::info);
  // A full disk must not end the training: report it once, on the terminal.
  log.logger->set_error_handler(
      [terminal = log.terminal,
       reported = std::make_shared<std::atomic<bool>>()](const std::string& why) {
        if (!reported->exchange(true))
          terminal->put_line("the log file cannot be written: " + why + "\n");
      });
  log.verbosity = options.verbosity;
  return log;
}

Log& the_log() {  // a process has one stderr, and so one log
  static Log log = make_log({});
  return log;
}

spdlog::source_loc location(Where where) { return {where.file, where.line, ""}; }

void write_line(level_enum level, const std::string& message, Where where) {
  the_log().logger->log(location(where), level, spdlog::string_view_t(message));
}

// Past the logger, which would write to the terminal too.
void write_to_file(level_enum level, const std::string& message, Where where) {
  Log& log = the_log();
  try {
    log.file->log({location(where), log.logger->name(), level, message});
    log.file->flush();
  } catch (const std::exception&) {  // the terminal has what matters
  }
}

}  // namespace

void start_log(const LogOptions& options) {
  if (!options.log_dir.empty()) make_directories(options.log_dir);
  show_status("");
  the_log() = make_log(options);
}

std::string log_file() { return the_log().file ? the_log().file->path() : ""; }

void log_info(const std::string& m, Where where) { write_line(level_enum::info, m, where); }
void log_progress(const std::string& m, Where where) {
  Log& log = the_log();
  if (!log.terminal->present()) return log_info(m, where);
  if (log.file && log.logger->should_log(level_enum::info))
    write_to_file(level_enum::info, m, where);
}
void log_note(const std::string& m, Where where) {
  log_info(m, where);
  show_line(wrapped(m, log_columns()));
}
void log_warn(const std::string& m, Where where) {
  write_line(level_enum::warn, m, where);
  observe(LogLevel::warning, m);
}
void log_error(const std::string& m, Where where) {
  write_line(level_enum::err, m, where);
  observe(LogLevel::error, m);
}
void set_log_observer(std::function<void(LogLevel, const std::string&)> observer) {
  log_observer() = std::move(observer);
}

void log_detail(int level, const std::string& message, Where where) {
  if (level <= the_log().verbosity) log_info(message, where);
}

void log_exit_reason(const std::string& message, Where where) {
  Log& log = the_log();
  log.terminal->set_status("");
  const bool people = log.terminal->present();
  log.terminal->put_line((people ? wrapped(message, log_columns()) : message) + "\n");
  if (log.file) write_to_file(level_enum::critical, message, where);
}

bool log_on_terminal() { return the_log().terminal->present(); }
int log_columns() { return the_log().terminal->columns(); }
void show_line(const std::string& line) {
  Log& log = the_log();
  if (log.screen == Screen::warnings && log.to_screen) log.terminal->put_line(line + "\n");
}
void show_status(const std::string& line) { the_log().terminal->set_status(line); }
void show_dot() { the_log().terminal->dot(); }

}  // namespace paddle
