#include "paddle/output.h"

#include <fcntl.h>

#include <algorithm>
#include <cctype>
#include <cerrno>

#include "base/error.h"
#include "base/file.h"

namespace paddle {
namespace {

constexpr size_t kept_lines = 40;

// Where the line of a process begins in a line of another launch ("trainer.0 | …"); else 0.
size_t after_name(std::string_view line) {
  const size_t bar = line.substr(0, 40).find(" | ");
  const size_t blank = line.find(' ');
  return bar == std::string_view::npos || line.find_first_not_of(' ', blank) < bar ? 0 : bar + 3;
}

// Where the message of a log line starts; 0 for any other line.
size_t message_at(std::string_view whole) {
  const size_t begin = after_name(whole);
  const std::string_view line = whole.substr(begin);
  if (line.size() < 6 || std::string_view("IWEF").find(line[0]) == std::string_view::npos) return 0;
  for (size_t i = 1; i < 5; ++i)
    if (std::isdigit(static_cast<unsigned char>(line[i])) == 0) return 0;
  const size_t bracket = line.find("] ");
  return line[5] == ' ' && bracket != std::string_view::npos ? begin + bracket + 2 : 0;
}

}  // namespace

bool wants_colour(const Environment& environment) {
  return variable(environment, "NO_COLOR").empty() && variable(environment, "TERM") != "dumb";
}

char log_letter(std::string_view line) {
  return message_at(line) > 0 ? line[after_name(line)] : '\0';
}

std::string_view log_message(std::string_view line) { return line.substr(message_at(line)); }

Output::Output(Terminal& terminal, const std::string& name, const std::string& path, Look look)
    : terminal_(terminal),
      name_(name),
      path_(path),
      prefix_(name + std::string(std::max(look.name_width, name.size()) - name.size(), ' ') + " |"),
      file_(open_to_append(path)),
      look_(look) {
  if (look.colour > 0) prefix_ = text("\x1b[", look.colour, "m", prefix_, "\x1b[0m");
}

void Output::take(std::string_view bytes) {
  keep(bytes);
  lines_.take(bytes, [this](std::string line) { show(std::move(line)); });
}

void Output::finish() {
  if (std::string line = lines_.rest(); !line.empty()) show(std::move(line));
}

void Output::show(std::string line) {
  const bool shown =
      look_.show == Show::all || (look_.show == Show::warnings && log_letter(line) != 'I');
  if (shown) terminal_.put_line(prefix_ + " " + line + "\n");
  latest_.push_back(std::move(line));
  if (latest_.size() > kept_lines) latest_.pop_front();
}

// A full disk must not end the job: it is reported once.
void Output::keep(std::string_view bytes) {
  if (file_failed_) return;
  try {
    write_all(file_.get(), bytes, path_);
  } catch (const Error& e) {
    file_failed_ = true;
    terminal_.put_line(
        text("the output of ", name_, " is shown only from here on: ", e.what(), "\n"));
  }
}

std::string Output::last_lines() const {
  size_t first = latest_.size();
  while (first > 0 && log_letter(latest_[first - 1]) == '\0') --first;
  while (first < latest_.size() && latest_[first].empty()) ++first;
  std::string out;
  for (size_t i = first; i < latest_.size(); ++i) out += (out.empty() ? "" : "\n") + latest_[i];
  if (out.empty() && first > 0) out = log_message(latest_[first - 1]);
  return out;
}

}  // namespace paddle
