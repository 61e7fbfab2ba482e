// Connections to the shards: over shared memory where a pserver of the same user is on this machine
// and TLS is not asked for, else over TCP. All on the client's thread, so that nothing hops
// between threads on the way of the data; only the heartbeat has a thread of its own.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "trainer/heartbeat.h"
#include "trainer/ps_links.h"
#include "wire/connection.h"
#include "wire/credentials.h"
#include "wire/spin.h"

namespace paddle {

class TcpLinks final : public Links {
 public:
  TcpLinks(const std::vector<wire::Endpoint>& shards, wire::Credentials credentials,
           double peer_timeout, int64_t spin_microseconds, bool shared_memory);
  ~TcpLinks() override;

  Time now() const override { return Clock::now(); }
  void greet(size_t shard, const wire::Hello& hello) override;
  void hang_up(size_t shard) override;
  bool open(size_t shard) const override;
  void send(uint32_t shard, const wire::Push& push, std::span<const wire::Bytes> bulk) override;
  void send(uint32_t shard, const wire::Pull& pull) override;
  void send(uint32_t shard, uint64_t id, const wire::PullRows& pull, wire::Bytes ids) override;
  void request(size_t shard, uint64_t id, const wire::Body& body, wire::Bytes bulk) override;
  void flush() override;
  void poll() override { io_.poll(); }
  void poll_sometimes() override;

 protected:
  bool spin(const Condition& done) override { return spin_.look(io_, done); }
  void sleep_until(Time until) override;
  void slept(Time::duration time) override { spin_.slept(time); }
  Time heard(size_t shard) const override;

 private:
  class Link;
  struct SentTime {
    Time time{};                                          // Time{}: nothing, or it was answered
    std::array<Time, RowRequests::pulls_at_once> rows{};  // of pulls of rows of a table
    bool push = false, table = false;
  };
  template <class Part>
  void sent(std::span<const Part> parts, bool push);
  void answered(uint64_t id, const wire::Values& values);
  SentTime& sent_at(uint32_t slice);

  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  wire::Spin spin_;
  const wire::Credentials credentials_;
  const bool shared_memory_;
  std::vector<std::unique_ptr<Link>> links_;
  Heartbeat heartbeat_;
  Time last_poll_{};
  std::vector<SentTime> sent_;  // by id of the slice: what was sent last
};

}  // namespace paddle
