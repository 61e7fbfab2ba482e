// The waits of PsClient: each has a name, a deadline and a way out when a connection breaks.
#pragma once

#include "base/interrupt.h"
#include "base/log.h"
#include "base/run_main.h"
#include "trainer/ps_client.h"

namespace paddle {

// Says every few seconds what a wait is for; says nothing of short ones.
class WaitVoice {
 public:
  // `what` completes "waiting for …".
  template <class What>
  void speak(const What& what) {
    const auto now = wire::Clock::now();
    if (now < next_) return;
    next_ = now + std::chrono::seconds(5);
    const std::string words = what();
    // Some tell already how long it has been.
    const bool timed = words.size() > 3 && words.compare(words.size() - 3, 3, " s)") == 0;
    log_info(text("waiting for ", words, timed ? "" : text(" (", int(seconds()), " s)")));
  }
  double seconds() const {
    return std::chrono::duration<double>(wire::Clock::now() - since_).count();
  }

 private:
  wire::Clock::time_point since_ = wire::Clock::now(), next_ = since_ + std::chrono::seconds(5);
};

template <class Done>
void PsClient::wait(const std::function<std::string()>& what, const Done& done) {
  for (const auto& link : links_)
    if (link->open()) link->connection().flush();
  if (spin_.look(io_, done)) return;
  const auto asleep = wire::Clock::now();
  WaitVoice voice;
  while (!done()) {
    io_.run_one_for(std::chrono::milliseconds(200));
    io_.poll();
    check_interrupt();
    check_links();
    voice.speak(what);
    if (stop_signal() != 0 && !done()) throw Stopped{};
  }
  spin_.slept(wire::Clock::now() - asleep);
}

template <class Send>
void PsClient::request(const std::vector<size_t>& shards, const std::string& what,
                       const Send& send) {
  std::vector<std::pair<ShardLink*, uint64_t>> asked;
  const auto ask = [&](ShardLink& link) {
    if (!link.open())
      throw Disrupted{text("pserver ", link.endpoint().text(), ": ", link.trouble())};
    asked.emplace_back(&link, link.expect_ack());
    send(link, asked.back().second);
  };
  for (const size_t i : shards) ask(*links_[i]);
  if (shards.empty())
    for (const auto& link : links_) ask(*link);
  wait([&] { return "a pserver " + what; },
       [&] {
         for (const auto& [link, id] : asked)
           if (!link->acked(id)) return false;
         return true;
       });
}

// What breaks in `body` is mended, and ends in Rewind.
template <class Body>
void PsClient::guarded(const Body& body) {
  try {
    body();
  } catch (const Disrupted& broken) {
    recover(broken);
  }
}

}  // namespace paddle
