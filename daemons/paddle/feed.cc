#include "paddle/feed.h"

#include <algorithm>

namespace paddle {

void Feed::put(const std::string& line) {
  // A line break would end the server-sent event; JSON in one line has none.
  if (line.empty() || line.find_first_of("\r\n") != std::string::npos) return;
  const bool progress = line.starts_with("{\"event\": \"progress\"");
  const std::scoped_lock lock(mutex_);
  entries_.push_back({++last_, progress, line});
  progress_ += progress;
  if (progress_ > limits_.progress) thin_progress();
  if (entries_.size() - progress_ > limits_.others) drop_oldest();
}

// Again and again, so that the beginning of a long job has fewer points than its end.
void Feed::thin_progress() {
  bool drop = false;
  std::erase_if(entries_, [&](const Entry& e) { return e.progress && (drop = !drop); });
  progress_ = static_cast<size_t>(
      std::count_if(entries_.begin(), entries_.end(), [](const Entry& e) { return e.progress; }));
}

void Feed::drop_oldest() {
  size_t left = limits_.others / 8;
  std::erase_if(entries_, [&](const Entry& e) { return !e.progress && left > 0 && left-- > 0; });
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
