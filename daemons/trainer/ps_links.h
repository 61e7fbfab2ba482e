// The trainer's connections to all shards of a job, and the one place where it waits for them. All
// on the client's thread, so that nothing hops between threads on the way of the data; only the
// heartbeat has a thread of its own.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/interrupt.h"
#include "base/run_main.h"
#include "trainer/heartbeat.h"
#include "trainer/ps_link.h"
#include "trainer/wait_log.h"
#include "wire/spin.h"

namespace paddle {

// Thrown out of any wait, where a signal asks this process to stop.
struct Stopped {};

// Thrown where a connection or an epoch broke: joining again mends it.
struct Disrupted {
  std::string why;
};

class Links : public ShardSender {
 public:
  Links(const std::vector<wire::Endpoint>& shards, double peer_timeout, int64_t spin_microseconds);
  ~Links() override;

  size_t size() const { return links_.size(); }
  ShardLink& operator[](size_t shard) { return *links_[shard]; }
  const ShardLink& operator[](size_t shard) const { return *links_[shard]; }
  // Throws Disrupted where the shard is not connected.
  wire::Connection& connection(size_t shard);
  void deliver_to(ParamExchange& exchange);

  void send(uint32_t shard, const wire::Push& push, std::span<const wire::Bytes> bulk) override;
  void send(uint32_t shard, const wire::Pull& pull) override;
  void flush();
  // Hands on what has arrived, without waiting.
  void poll() { io_.poll(); }
  // The same, but at most once in a while: for those who ask often.
  void poll_sometimes();

  // Waits until done(). `what` completes "waiting for …"; `check` is called after
  // everything that happened, throws where the wait is useless, and returns when it wants to be
  // called again at the latest. Throws Stopped, and Error(peer) with the name of a shard that
  // has shown no sign of life for peer_timeout, neither here nor by its heartbeat: who waits only
  // for other trainers waits on.
  template <class What, class Done, class Check>
  void wait(const What& what, const Done& done, const Check& check);

  void start_heartbeat(const wire::Hello& hello);
  void stop_heartbeat() { heartbeat_.reset(); }
  Heartbeat* heartbeat() { return heartbeat_.get(); }
  // Whom the shards wait for; "" for nobody.
  std::string others() const { return heartbeat_ ? heartbeat_->news().waiting : ""; }

 private:
  // How long each shard was silent during a wait. Time in which this process was stopped does not
  // count.
  struct Silence {
    Time looked;
    std::vector<Time> heard;
    std::vector<double> seconds;
  };
  void check_silence(Silence& silence, const std::string& what);

  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  wire::Spin spin_;
  const double peer_timeout_;
  std::vector<wire::Endpoint> endpoints_;
  std::vector<std::unique_ptr<ShardLink>> links_;
  std::unique_ptr<Heartbeat> heartbeat_;
  Time last_poll_{};
};

template <class What, class Done, class Check>
void Links::wait(const What& what, const Done& done, const Check& check) {
  flush();
  if (spin_.look(io_, done)) return;
  const auto asleep = Clock::now();
  WaitLog log;
  Silence silence{.looked = asleep, .heard = {}, .seconds = {}};
  for (Time wake = check(); !done(); wake = check()) {
    io_.run_one_until(std::min(wake, Clock::now() + std::chrono::milliseconds(200)));
    io_.poll();
    check_interrupt();
    log.update(what);
    if (Clock::now() - silence.looked > std::chrono::seconds(1)) check_silence(silence, what());
    if (stop_signal() != 0 && !done()) throw Stopped{};
  }
  spin_.slept(Clock::now() - asleep);
}

}  // namespace paddle
