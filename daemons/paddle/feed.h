// What the live page shows, as lines that browsers follow: the events of a job and the last state
// of its shards. It keeps a bounded number of them, so that a job of weeks can be looked at from
// its beginning. Any thread may use it.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"

namespace paddle {

class Feed {
 public:
  // Kept at most; of `progress` lines every second one is dropped when there are too many, of the
  // others the oldest. What describes the model does not push out the rest.
  struct Limits {
    size_t progress = 8192, others = 8192, ops = 600, parameters = 400;
  };
  Feed() = default;
  explicit Feed(const Limits& limits) : limits_(limits) {}

  // An event as one line of JSON, without its newline.
  void put(const std::string& line);
  // One JSON object, in place of the last one.
  void set_status(const std::string& json);

  // How far a browser has read; one at the beginning gets everything.
  struct Cursor {
    uint64_t line = 0, status = 0;
  };
  // What is new since then, as server-sent events; about `bytes` at most, more with the next call.
  std::string since(Cursor& cursor, Time now, size_t bytes = 256 << 10);
  // Whether somebody has asked within the last seconds.
  bool watched(Time now) const;

  // The lines that are kept, each with a newline.
  std::string lines() const;

 private:
  enum class Kind : uint8_t { progress, other, op, parameter };
  struct Entry {
    uint64_t number = 0;
    Kind kind = Kind::other;
    std::string line;
  };
  static Kind kind_of(const std::string& line);
  size_t limit(Kind kind) const;
  size_t& count(Kind kind) { return counts_[static_cast<size_t>(kind)]; }
  void thin_progress();
  void drop_oldest(Kind kind);

  const Limits limits_ = {};
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;  // by number
  uint64_t last_ = 0;           // number
  size_t counts_[4] = {};       // of the entries, by kind
  std::string status_;
  uint64_t status_number_ = 0;
  Time asked_{};
};

}  // namespace paddle
