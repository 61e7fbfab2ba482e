// The event file of the process (--event_file): one JSON line per event. Like the log there is one
// per process, any thread may emit, and nothing here but start_events() throws or blocks: a line
// that a full pipe or a full disk does not take is dropped and counted.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "obs/event.h"

namespace paddle {

// One line without its newline, at most 4000 bytes: what a pipe takes whole or not at all. `time`
// is in seconds since 1970.
std::string event_line(const event::Any& event, const event::Source& source, double time);

// The event in a line. Nothing for a line that is damaged, or of a kind that this program does not
// know. Fields that are missing or of another type keep their defaults: another version may have
// written the line.
std::optional<event::Any> read_event(std::string_view line);

// Every event with its fields as Markdown, for docs/events.md and `paddle list_events`.
std::string event_tables();

// Lines into a file or pipe.
class EventWriter {
 public:
  // Appends; makes the file where there is none. /dev/fd/N is the open descriptor N. Throws
  // Error(io).
  explicit EventWriter(const std::string& path);

  void put(const event::Any& event, const event::Source& source);
  // A line that another process wrote, with its newline.
  void put_line(const std::string& line);

 private:
  bool write(const std::string& line);

  std::mutex mutex_;
  Descriptor file_;
  int64_t dropped_ = 0;
  bool torn_ = false;  // the last line was written in part
};

// Called in the thread that emits.
using EventObserver = std::function<void(const event::Any& event)>;

// From here on emit() writes to `path` and calls `observer`, and warnings, errors and the end of
// the process are events too. "" writes nothing. Throws Error(io). To be called before other
// threads emit.
void start_events(const std::string& path, const std::string& role, EventObserver observer = {});
bool events_on();
void emit(const event::Any& event);
// A line that another process wrote, with its newline.
void emit_line(const std::string& line);

}  // namespace paddle
