// The trainer's connections to all shards of a job, and the one place where it waits for them. How
// messages travel and time passes is behind virtual calls: TCP (tcp_links.h) or a simulation.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/run_main.h"
#include "trainer/link_state.h"
#include "trainer/shard_news.h"
#include "trainer/wait_log.h"

namespace paddle {

// Thrown out of any wait, where a signal asks this process to stop.
struct Stopped {};

// Thrown where a connection or an epoch broke: joining again mends it.
struct Disrupted {
  std::string why;
};

// A condition that the caller keeps: no allocation, no ownership.
class Condition {
 public:
  template <class F>
  explicit Condition(const F& holds)
      : object_(&holds), call_([](const void* f) { return (*static_cast<const F*>(f))(); }) {}
  bool operator()() const { return call_(object_); }

 private:
  const void* object_;
  bool (*call_)(const void*);
};

// What a trainer reports to the shards beside its work; they answer with their news.
class Heartbeats {
 public:
  virtual ~Heartbeats() = default;
  // Begins, or begins anew, with this greeting.
  virtual void start(const wire::Hello& hello) = 0;
  virtual void stop() = 0;
  virtual void report(const wire::Progress& progress) = 0;
  // Returns when the shards have acknowledged it, or after a second.
  virtual void send_final_error(const std::string& message) = 0;
  virtual std::vector<ShardNews> news_of_each() const = 0;  // by shard
};

class Links : public ShardSender {
 public:
  // `heartbeats` are not used before the first call, and not by the destructor.
  Links(const std::vector<std::string>& endpoints, double peer_timeout, Heartbeats& heartbeats);

  size_t size() const { return states_.size(); }
  LinkState& operator[](size_t shard) { return states_[shard]; }
  const LinkState& operator[](size_t shard) const { return states_[shard]; }
  void deliver_to(ParamExchange& exchange, RowExchange& rows);
  virtual Time now() const = 0;

  // ---- connections
  // Drops the connection, if there is one, and starts to make a new one, as often as it takes.
  virtual void greet(size_t shard, const wire::Hello& hello) = 0;
  // Drops the connection for good.
  virtual void hang_up(size_t shard) = 0;
  virtual bool open(size_t shard) const = 0;
  // Throws Disrupted where the shard is not connected.
  void require_open(size_t shard) const;
  // A message to a shard that is not connected is lost: that is found out, and mended, where the
  // answer is awaited. Bulk stays until it was answered.
  using ShardSender::send;
  virtual void request(size_t shard, uint64_t id, const wire::Body& body,
                       wire::Bytes bulk = {}) = 0;
  virtual void flush() = 0;
  // Hands on what has arrived, without waiting.
  virtual void poll() = 0;
  // The same, but at most once in a while: for those who ask often.
  virtual void poll_sometimes() = 0;

  // ---- heartbeats
  Heartbeats& heartbeats() { return heartbeats_; }
  // What the shards report, together.
  ShardNews news() const;

  // Waits until done(). `what` completes "waiting for …"; `check` is called after
  // everything that happened, throws where the wait is useless, and returns when it wants to be
  // called again at the latest. Throws Stopped, and Error(peer) with the name of a shard that
  // has shown no sign of life for peer_timeout, neither here nor by its heartbeat: who waits only
  // for other trainers waits on.
  template <class What, class Done, class Check>
  void wait(const What& what, const Done& done, const Check& check);

  // The same for a trainer that was asked to stop: at most this long. Returns whether done() came
  // true.
  template <class Done>
  bool wait_briefly(const Done& done, Time::duration limit);

  // How long nothing has come from a shard, on any connection.
  double silent_for(size_t shard) const { return seconds(heard(shard), now()); }

 protected:
  // Looks for a moment whether the condition comes true, where that is cheaper than to sleep.
  virtual bool spin(const Condition& done) { return done(); }
  // Sleeps until something happens, at most until then.
  virtual void sleep_until(Time until) = 0;
  virtual void slept(Time::duration time) { static_cast<void>(time); }
  // Something came from the shard last.
  virtual Time heard(size_t shard) const = 0;
  virtual bool stop_asked() const { return stop_signal() != 0; }

 private:
  // How long each shard was silent during a wait. Time in which this process was stopped does not
  // count.
  struct Silence {
    Time looked;
    std::vector<Time> heard;
    std::vector<double> seconds;
  };
  void check_silence(Silence& silence, const std::string& what);

  const double peer_timeout_;
  Heartbeats& heartbeats_;
  std::vector<LinkState> states_;
};

template <class What, class Done, class Check>
void Links::wait(const What& what, const Done& done, const Check& check) {
  flush();
  if (spin(Condition(done))) return;
  const Time asleep = now();
  WaitLog log(asleep);
  Silence silence{.looked = asleep, .heard = {}, .seconds = {}};
  for (Time wake = check(); !done(); wake = check()) {
    sleep_until(std::min(wake, now() + std::chrono::milliseconds(200)));
    if (done()) break;  // `what` may have nothing to name any more
    log.update(now(), what);
    if (now() - silence.looked > std::chrono::seconds(1)) check_silence(silence, what());
    if (stop_asked()) throw Stopped{};
  }
  slept(now() - asleep);
}

template <class Done>
bool Links::wait_briefly(const Done& done, Time::duration limit) {
  flush();
  const Time end = now() + limit;
  while (!done()) {
    if (now() >= end) return false;
    sleep_until(std::min(end, now() + std::chrono::milliseconds(200)));
  }
  return true;
}

}  // namespace paddle
