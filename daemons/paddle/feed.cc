#include "paddle/feed.h"

#include <algorithm>

namespace paddle {

void Feed::put(const std::string& line) {
  // A line break would end the server-sent event; JSON in one line has none.
  if (line.empty() || line.find_first_of("\r\n") != std::string::npos) return;
  const Kind kind = kind_of(line);
  const std::scoped_lock lock(mutex_);
  entries_.push_back({++last_, kind, line});
  if (++count(kind) <= limit(kind)) return;
  kind == Kind::progress ? thin_progress() : drop_oldest(kind);
}

Feed::Kind Feed::kind_of(const std::string& line) {
  if (line.starts_with("{\"event\": \"progress\"")) return Kind::progress;
  if (line.starts_with("{\"event\": \"parameter\"")) return Kind::parameter;
  return line.starts_with("{\"event\": \"op\"") ? Kind::op : Kind::other;
}

size_t Feed::limit(Kind kind) const {
  switch (kind) {
    case Kind::progress: return limits_.progress;
    case Kind::op: return limits_.ops;
    case Kind::parameter: return limits_.parameters;
    case Kind::other: break;
  }
  return limits_.others;
}

// Again and again, so that the beginning of a long job has fewer points than its end.
void Feed::thin_progress() {
  bool drop = false;
  count(Kind::progress) -= std::erase_if(
      entries_, [&](const Entry& e) { return e.kind == Kind::progress && (drop = !drop); });
}

void Feed::drop_oldest(Kind kind) {
  size_t left = std::max<size_t>(1, limit(kind) / 8);
  count(kind) -= std::erase_if(
      entries_, [&](const Entry& e) { return e.kind == kind && left > 0 && left-- > 0; });
}

void Feed::set_status(const std::string& json) {
  const std::scoped_lock lock(mutex_);
  if (json == status_) return;
  status_ = json;
  while (!status_.empty() && status_.back() == '\n') status_.pop_back();
  ++status_number_;
}

std::string Feed::since(Cursor& cursor, Time now, size_t bytes) {
  const std::scoped_lock lock(mutex_);
  asked_ = now;
  auto at = std::upper_bound(entries_.begin(), entries_.end(), cursor.line,
                             [](uint64_t n, const Entry& e) { return n < e.number; });
  std::string out;
  for (; at != entries_.end() && out.size() < bytes; ++at) {
    out += "data: " + at->line + "\n\n";
    cursor.line = at->number;
  }
  if (cursor.status < status_number_) {
    out += "event: status\ndata: " + status_ + "\n\n";
    cursor.status = status_number_;
  }
  return out;
}

bool Feed::watched(Time now) const {
  const std::scoped_lock lock(mutex_);
  return asked_ != Time{} && now - asked_ < std::chrono::seconds(3);
}

std::string Feed::lines() const {
  const std::scoped_lock lock(mutex_);
  std::string out;
  for (const Entry& e : entries_) out += e.line + "\n";
  return out;
}

}  // namespace paddle
