// What the parts of a shard's state machine share.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/log.h"
#include "obs/event.h"
#include "pserver/members.h"
#include "pserver/outbox.h"
#include "pserver/pserver_memory.h"
#include "pserver/snapshot_disk.h"
#include "wire/credentials.h"

namespace paddle {

// Where a shard listens.
struct ListenOptions {
  std::string host;
  uint16_t port = 0;
  int64_t spin_microseconds = 0;  // wire/spin.h
  wire::Credentials credentials;  // what peers have to prove
  bool insecure = false;          // others than this machine may connect without
  bool shared_memory = true;      // with trainers of this machine (wire/shared_connect.h)
};

// Async: which gradients are too old to be applied.
struct StaleOptions {
  uint64_t max_staleness = 0;  // in versions, 0 takes any
  double discard_ratio = 0;    // 0 discards none
};

// Of a process that knows its job's program itself.
struct OwnProgram {
  // Why a configuration does not fit it, "" for one that does. Called in the shard's thread.
  std::function<std::string(const StoreConfig&)> check;
  // First values by variable of the shard; they count in place of what a trainer brings.
  std::map<std::string, Tensor> presets;
  // The same for rows of the shard's parts of tables, by parameter (table/part.h).
  std::map<std::string, std::vector<std::vector<std::byte>>> preset_rows;
};

// Called in the shard's thread.
struct ShardCalls {
  std::function<void()> on_done;                        // when its job is done
  std::function<void()> on_tick;                        // once a second
  std::function<void()> on_stop;                        // an admin asked for the end of the process
  std::function<void(const event::Totals&)> on_totals;  // numbers of all trainers
  std::function<void(wire::Status)> on_report;          // once a second, and when it begins
};

struct ShardOptions {
  ListenOptions listen;
  size_t index = 0;  // among the dense (or sparse) shards of the process
  bool sparse = false;
  std::string job;  // "" takes any
  std::optional<uint32_t> trainers;
  LeaseOptions leases;
  double peer_timeout = 600;
  StaleOptions stale;
  SnapshotOptions snapshots;
  uint64_t log_period = 500;
  bool exit_when_done = false;
  ShardCalls calls;
  OwnProgram own;
  std::shared_ptr<PserverMemory> memory;  // of all shards of the process; null: no limit

  ByteBudget* budget() const { return memory ? &memory->whole : nullptr; }
};

struct Context {
  const ShardOptions& options;
  std::string label;  // "port 7164: ", in front of log lines
  // Runs something in another thread and calls Shard::proceed() afterwards; none: it runs at once.
  std::function<void(std::function<void()>)> background = {};
  uint64_t instance = 0;  // a new one each time the pserver starts
  Time now{};             // of the event that is handled
  Peers peers = {};
  Outbox out = {};
  std::deque<std::string> last_errors = {};
  std::vector<std::unique_ptr<Store>> retired = {};  // until Outbox::drops_bulk was heeded

  void info(const std::string& sentence, Where where = Where::current()) const {
    log_info(label + sentence, where);
  }
  void warn(const std::string& sentence, Where where = Where::current()) const {
    log_warn(label + sentence, where);
  }
  // Also shown by the status.
  void error(const std::string& sentence, Where where = Where::current()) {
    constexpr size_t errors_kept = 10;
    log_error(label + sentence, where);
    last_errors.push_back(sentence);
    if (last_errors.size() > errors_kept) last_errors.pop_front();
  }
};

}  // namespace paddle
