// The process that holds the id of a trainer, as a shard knows it, and its lease. Time is given.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "pserver/peers.h"

namespace paddle {

enum class LossPolicy { wait, drop, fail };
LossPolicy loss_policy_of(std::string_view word);  // throws Error(config)

struct LeaseOptions {
  LossPolicy policy = LossPolicy::wait;
  double lease_seconds = 10, reconnect_seconds = 2;
};

struct Holder {
  Incarnation incarnation;
  std::string process;     // "host:pid"
  Time since{};            // it has the id
  Time heard{}, closed{};  // last: a message came, a connection ended
  int connections = 0;     // of this incarnation that are open
  bool beats = false;      // it has sent a heartbeat: its silence means something
  uint64_t echoed = 0;     // the number of the last beat's answer that it has seen
  std::string last_error;  // what it reported before it failed

  void opened(Time now) {
    ++connections;
    heard = now;
  }
  void disconnected(Time now) {
    connections = std::max(0, connections - 1);
    closed = now;
  }
  // Nothing was heard for longer than the lease.
  bool silent(const LeaseOptions& o, Time now) const {
    return seconds(heard, now) > o.lease_seconds;
  }
  // Without a connection for longer than it takes to return.
  bool away(const LeaseOptions& o, Time now) const {
    return connections == 0 && seconds(closed, now) > o.reconnect_seconds;
  }
  // For how long it has been away: without a connection, or silent on those that seem to be open
  // (where a machine vanished, nobody hears of the end of its connections). 0 while it is there.
  double away_for(const LeaseOptions& o, Time now) const {
    if (connections == 0) return seconds(closed, now);
    return silent(o, now) ? seconds(heard, now) : 0;
  }
};

}  // namespace paddle
