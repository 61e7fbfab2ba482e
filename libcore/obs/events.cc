#include "obs/events.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <type_traits>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/host.h"
#include "base/log.h"
#include "base/run_main.h"
#include "obs/json.h"

namespace paddle {
namespace {

// Of a field, as it is written. A line of three such texts is shorter than PIPE_BUF (4096 bytes),
// and so a pipe takes it whole or not at all.
constexpr size_t longest_text = 1100;

std::string event_value(const event::Evaluators& values) {
  JsonObject out;
  size_t bytes = 0;
  for (const auto& [name, value] : values) {
    const std::string key = json_value(std::string_view(name), longest_text / 2);
    if (bytes += key.size() + 20; bytes > longest_text) break;
    out.raw(std::string_view(key).substr(1, key.size() - 2), json_value(value));
  }
  return out.done();
}
std::string event_value(const std::string& value) {
  return json_value(std::string_view(value), longest_text);
}
template <class T>
std::string event_value(const T& value) {
  return json_value(value);
}

const char* type_name(const std::string&) { return "text"; }
const char* type_name(bool) { return "true or false"; }
const char* type_name(int64_t) { return "whole number"; }
const char* type_name(double) { return "number"; }
const char* type_name(const event::Evaluators&) { return "object: name → number"; }

template <class Event>
std::string table_of() {
  const Event example{};
  std::string out = text("### ", Event::kind, "\n\n", Event::when, "\n\n",
                         "| field | type | meaning |\n|---|---|---|\n");
  Event::each(example, [&](const char* name, const auto& value, const char* meaning) {
    out += text("| `", name, "` | ", type_name(value), " | ", meaning, " |\n");
  });
  return out;
}

template <class... Events>
std::string tables_of(const std::variant<Events...>&) {
  std::string out;
  ((out += (out.empty() ? "" : "\n") + table_of<Events>()), ...);
  return out;
}

// The event file of the process; set once, before other threads emit.
struct ProcessEvents {
  std::unique_ptr<EventWriter> writer;
  event::Source source;
  EventObserver observer;
};
ProcessEvents& process_events() {
  static ProcessEvents events;
  return events;
}

void emit_log_line(LogLevel level, const std::string& message) {
  if (level == LogLevel::warning)
    emit(event::Warning{message});
  else
    emit(event::Failed{message});
}

}  // namespace

std::string event_line(const event::Any& event, const event::Source& source, double time) {
  char stamp[32];
  std::snprintf(stamp, sizeof stamp, "%.6f", time);
  JsonObject out;
  std::visit(
      [&](const auto& e) {
        using Event = std::decay_t<decltype(e)>;
        out.add("event", Event::kind).raw("time", stamp);
        out.add("role", source.role).raw("process", event_value(source.process));
        Event::each(e, [&](const char* name, const auto& value, const char*) {
          out.raw(name, event_value(value));
        });
      },
      event);
  return out.done();
}

std::string event_tables() { return tables_of(event::Any{}); }

EventWriter::EventWriter(const std::string& path)
    : file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC, 0640)) {
  if (!file_) throw io_error("write the events to", path, errno);
}

void EventWriter::put(const event::Any& event, const event::Source& source) {
  const double time = unix_seconds();
  const std::string line = event_line(event, source, time) + "\n";
  const std::scoped_lock lock(mutex_);
  if (dropped_ > 0) {
    const std::string lost = event_line(event::Dropped{dropped_}, source, time) + "\n";
    if (!write(lost)) {
      ++dropped_;
      return;
    }
    dropped_ = 0;
  }
  if (!write(line)) ++dropped_;
}

void EventWriter::put_line(const std::string& line) {
  const std::scoped_lock lock(mutex_);
  if (!write(line)) ++dropped_;
}

// One write: lines of several processes in one file stay whole. Where the disk takes a part of one,
// the next begins on a line of its own.
bool EventWriter::write(const std::string& line) {
  const std::string bytes = torn_ ? "\n" + line : line;
  ssize_t n = 0;
  do n = ::write(file_.get(), bytes.data(), bytes.size());
  while (n < 0 && errno == EINTR);
  if (n > 0) torn_ = static_cast<size_t>(n) < bytes.size();
  return n > 0 && !torn_;
}

void start_events(const std::string& path, const std::string& role, EventObserver observer) {
  ProcessEvents& events = process_events();
  set_log_observer(nullptr);
  set_exit_observer(nullptr);
  events.writer.reset();
  events.observer = std::move(observer);
  if (!path.empty()) events.writer = std::make_unique<EventWriter>(path);
  if (!events_on()) return;
  events.source = {role, this_process()};
  set_log_observer(emit_log_line);
  set_exit_observer([](int code, const std::string& reason) { emit(event::Exit{code, reason}); });
}

bool events_on() { return process_events().writer || process_events().observer; }

void emit(const event::Any& event) {
  ProcessEvents& events = process_events();
  if (events.writer) events.writer->put(event, events.source);
  if (events.observer) events.observer(event);
}

void emit_line(const std::string& line) {
  if (process_events().writer) process_events().writer->put_line(line);
}

}  // namespace paddle
