// Logs every few seconds what a wait is for; short waits are not logged.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "obs/events.h"

namespace paddle {

class WaitLog {
 public:
  // `what` completes "waiting for …".
  template <class What>
  void update(const What& what) {
    const Time now = Clock::now();
    if (now < next_) return;
    next_ = now + std::chrono::seconds(5);
    const std::string words = what();
    // Some say already how long it has been.
    const bool timed = words.size() > 3 && words.compare(words.size() - 3, 3, " s)") == 0;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - since_).count();
    const std::string reason = text("waiting for ", words, timed ? "" : text(" (", seconds, " s)"));
    log_info(reason);
    emit(event::Waiting{reason});
  }

 private:
  Time since_ = Clock::now(), next_ = since_ + std::chrono::seconds(5);
};

}  // namespace paddle
