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
  explicit WaitLog(Time now) : since_(now), next_(now + std::chrono::seconds(5)) {}
  // `what` completes "waiting for …".
  template <class What>
  void update(Time now, const What& what) {
    if (now < next_) return;
    next_ = now + std::chrono::seconds(5);
    const std::string words = what();
    // Some texts hold the time already.
    const bool timed = words.size() > 3 && words.compare(words.size() - 3, 3, " s)") == 0;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - since_).count();
    const std::string reason = text("waiting for ", words, timed ? "" : text(" (", seconds, " s)"));
    log_note(reason);
    emit(event::Waiting{reason});
  }

 private:
  const Time since_;
  Time next_;
};

}  // namespace paddle
