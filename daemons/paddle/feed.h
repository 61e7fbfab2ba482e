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
  // others the oldest.
  struct Limits {
    size_t progress = 8192, others = 8192;
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
  struct Entry {
    uint64_t number = 0;
    bool progress = false;
    std::string line;
  };
  void thin_progress();
  void drop_oldest();

  const Limits limits_ = {};
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;  // by number
  uint64_t last_ = 0;           // number
  size_t progress_ = 0;         // among the entries
  std::string status_;
  uint64_t status_number_ = 0;
  Time asked_{};
};

}  // namespace paddle
