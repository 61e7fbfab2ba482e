// A shard: one listening port, one thread, one io_context and the slices that it alone owns. All
// methods but stop() belong to the thread in run(), as do the peers.
//
// shard.cc holds the life of it, shard_peers.cc its connections, shard_sweep.cc what it looks after
// once a second, shard_greeting.cc who may take part, shard_configure.cc how values get here,
// shard_messages.cc pushes and pulls, shard_status.cc what it tells.
#pragma once

#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pserver/members.h"
#include "pserver/peer.h"
#include "pserver/snapshots.h"
#include "pserver/store.h"
#include "wire/listener.h"

namespace paddle {

struct ShardOptions {
  std::string host;
  uint16_t port = 0;
  size_t index = 0;  // among the dense (or sparse) shards of the process
  bool sparse = false;
  std::string job;  // "" takes any
  std::optional<uint32_t> trainers;
  LossPolicy policy = LossPolicy::wait;
  double lease_seconds = 10, reconnect_seconds = 2, peer_timeout = 600;
  uint64_t max_staleness = 0;
  double discard_ratio = 0;  // of async gradients, 0 discards none
  SnapshotOptions snapshots;
  int64_t spin_microseconds = 0;  // wire/spin.h
  uint64_t log_period = 500;
  bool exit_when_done = false;
  std::function<void()> on_done;  // called in the shard's thread when its job is done
  // For a process that knows its job's program itself: why a configuration does not fit it, "" for
  // one that does. Called in the shard's thread.
  std::function<std::string(const StoreConfig&)> check;
  // First values by variable of the shard; they count in place of what a trainer brings.
  std::map<std::string, Tensor> presets;
};

class Shard {
 public:
  // Binds the port and takes up the newest snapshot. Throws Error(config).
  explicit Shard(ShardOptions options);
  ~Shard();

  uint16_t port() const { return listener_.port(); }
  // Serves until stop(). What it throws is a fault of the program or of the machine.
  void run();
  // From any thread: ends in good order: snapshot, a word to the peers.
  void stop();
  // After run(): why the job failed, "" where it did not.
  const std::string& failure() const { return last_failure_; }

 private:
  friend class Peer;
  using Clock = std::chrono::steady_clock;
  using Code = wire::FailureCode;

  struct Waiting {  // a pull that is answered once the version is there
    Peer* peer;
    uint64_t id, version;
  };
  struct Round {  // beside each slice
    std::vector<Waiting> pulls;
    Time begun{};  // first contribution or pull
  };
  struct Verdict {  // on a push or pull, before anything changes
    enum class Kind { take, duplicate, drop, fail } kind = Kind::take;
    Slice* slice = nullptr;
    Code code = Code::protocol;
    std::string why;
  };
  struct Traffic {
    uint64_t bytes_in = 0, bytes_out = 0, messages_in = 0, messages_out = 0;
    void add(const wire::Connection& c) {
      bytes_in += c.bytes_in();
      bytes_out += c.bytes_out();
      messages_in += c.messages_in();
      messages_out += c.messages_out();
    }
  };
  struct Building {  // a snapshot that some slices have reached
    Snapshot snapshot;
    size_t slices_left = 0;
  };
  struct Staleness {
    uint64_t max = 0, sum = 0, count = 0, dropped = 0, not_finite = 0;
  };

  // shard.cc
  void accept(tcp::socket socket);
  void loop();
  void become_empty(const std::string& why);
  bool even() const;
  uint64_t highest_version() const;
  bool settles(const wire::Body& body);
  void finish_stop();
  void end_loop();
  bool sync() const { return identity_ && identity_->mode == wire::Mode::sync; }

  // shard_sweep.cc
  asio::awaitable<void> sweep_every_second();
  void sweep(Time now);
  void sweep_peer(Peer& peer, Time now);
  void lose(uint32_t trainer);
  void check_saver(Time now);
  void say_waits(Time now);
  void fail_job(const std::string& why);
  void fail_pending(Code code, const std::string& why);
  void check_done(Time now);

  // shard_peers.cc
  void closed(Peer& peer, const std::string& why);
  void forget_peer(Peer& peer);
  void note_error(const std::string& sentence);
  void arrived();
  void touch(Peer& peer);  // has something to flush
  void ack(Peer& peer, uint64_t id, wire::Bytes bulk = {}, uint64_t version = 0);
  void fail(Peer& peer, uint64_t id, Code code, const std::string& why);
  void refuse(Peer& peer, uint64_t id, Code code, const std::string& why);  // and closes
  wire::Landing land(Peer& peer, const wire::Message& message, uint64_t bulk);
  void landed(Peer& peer, std::span<const std::byte> part);
  void handle(Peer& peer, wire::Message& message, uint64_t bulk);
  void dispatch(Peer& peer, wire::Message& message, uint64_t bulk);

  // shard_greeting.cc
  void hello(Peer& peer, uint64_t id, const wire::Hello& hello);
  std::string mismatch(const wire::Hello& hello) const;
  void take_identity(const Peer& peer, const wire::Hello& hello);
  void begin_members();
  void replace_connections(const Peer& peer);
  void welcome(Peer& peer, uint64_t id);
  void join(Peer& peer, uint64_t id, const wire::Join& join);
  std::string join_problem(const Peer& peer, const wire::Join& join) const;
  void complete(Peer& peer, uint64_t id, const wire::Complete& complete);
  void beat(Peer& peer, uint64_t id, wire::Progress& progress);
  void send_beat_ack(Peer& peer, uint64_t id, Time now);

  // shard_configure.cc
  void configure(Peer& peer, uint64_t id, const wire::Configure& configure);
  std::unique_ptr<Store> read_configuration(const wire::Configure& configure) const;
  wire::Landing land_value(Peer& peer, const wire::SetValue& set, uint64_t bulk);
  void set_value(Peer& peer, uint64_t id, const wire::SetValue& set, uint64_t bulk);
  void rollback(Peer& peer, uint64_t id, const wire::Rollback& rollback);
  void take_up(Snapshot snapshot);
  void drop_store(const std::string& why);
  void begin(uint64_t step);
  void check_presets(const StoreConfig& config) const;
  void take_presets();

  // shard_messages.cc
  Verdict check_push(const Peer& peer, const wire::Push& push, uint64_t bulk);
  Verdict check_async(const Peer& peer, const wire::Push& push, Slice& slice) const;
  void push(Peer& peer, uint64_t id, const wire::Push& push, uint64_t bulk);
  bool refuse_not_finite(Peer& peer, uint64_t id, const wire::Push& push, const Slice& slice);
  void apply_now(Peer& peer, uint64_t id, const wire::Push& push, Slice& slice, bool drops);
  void pull(Peer& peer, uint64_t id, const wire::Pull& pull);
  void await_version(Peer& peer, uint64_t id, Slice& slice, uint64_t version);
  void send_values(Peer& peer, uint64_t id, const Slice& slice, wire::Bytes values,
                   uint64_t version, bool dropped = false);
  bool complete(const Slice& slice) const;
  void try_close(Slice& slice);
  void close_ready_rounds();
  void answer_pulls(Slice& slice);
  void send_back_the_early();
  void fetch(Peer& peer, uint64_t id, const wire::Fetch& fetch);

  // shard_snapshot.cc
  void snapshot_slice(const Slice& slice);
  void snapshot_all(uint64_t step);
  Building& building(uint64_t step);
  void copy_slice(Building& to, const Slice& slice);
  void finish_snapshot(Building& building);
  void on_written(uint64_t step, const std::string& problem);

  // shard_status.cc
  void status(Peer& peer, uint64_t id);
  wire::MemberStatus member_status(uint32_t t, Time now) const;
  wire::SliceStatus slice_status(const Slice& s) const;
  std::string waiting_text(Time now) const;
  std::vector<uint32_t> missing(const Slice& slice) const;
  uint64_t lowest_version() const;
  struct Wait {
    const Slice* slice = nullptr;    // the open round that is furthest behind; null where none is
    std::vector<uint32_t> trainers;  // that it lacks, or that have not joined yet
  };
  Wait present_wait() const;
  void measure_rate(Time now);

  ShardOptions options_;
  asio::io_context io_{1};
  wire::Listener listener_;
  std::list<Peer> peers_;
  std::vector<Peer*> touched_;  // have something to flush
  asio::steady_timer timer_;
  const uint64_t instance_;
  const Time started_ = Clock::now();

  wire::ShardState state_ = wire::ShardState::empty;
  uint64_t epoch_ = 0, base_step_ = 0, received_ = 0;
  std::string init_, configured_by_;
  std::optional<Identity> identity_;
  std::optional<Members> members_;
  std::vector<std::optional<wire::LastPush>> last_pushes_;
  std::vector<Staleness> staleness_;
  std::vector<wire::Progress> progress_;
  Peer* configurer_ = nullptr;
  std::unique_ptr<Store> store_;
  std::vector<Round> rounds_;
  std::vector<Waiting> answering_;
  std::unique_ptr<Snapshots> snapshots_;
  std::list<Building> building_;
  uint64_t last_snapshot_ = 0;  // async: step of the last one

  std::deque<std::string> last_errors_;
  std::string last_failure_, said_waiting_;
  Time next_wait_line_{}, waiting_since_{};
  uint64_t waiting_step_ = 0;  // lowest version then: a step ends a wait
  Traffic traffic_;            // of connections that have ended
  uint64_t rate_step_ = 0, logged_step_ = 0;
  double steps_per_second_ = 0;
  Time rate_time_ = started_;
  bool stopping_ = false, done_ = false;
  uint64_t settle_version_ = 0;  // that all slices shall reach before it stops
  Time settle_until_{};
};

// "PaddlePaddle 0.1.0"
std::string build_text();

}  // namespace paddle
