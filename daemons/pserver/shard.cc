#include "pserver/shard.h"

#include <sys/random.h>

#include <algorithm>

#include "base/log.h"
#include "obs/progress.h"
#include "wire/spin.h"

namespace paddle {
namespace {

constexpr int settle_seconds = 2;  // for the step at hand, when a signal asks to stop

uint64_t random_number() {
  uint64_t n = 0;
  if (::getrandom(&n, sizeof n, 0) != sizeof n)
    n = static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  return n | 1;
}

}  // namespace

Shard::Shard(ShardOptions options)
    : options_(std::move(options)),
      listener_(io_, options_.host, options_.port),
      timer_(io_),
      instance_(random_number()) {
  if (options_.sparse || options_.snapshots.directory.empty()) return;
  snapshots_ = std::make_unique<Snapshots>(
      options_.snapshots, options_.index, [this](uint64_t step, const std::string& problem) {
        asio::post(io_, [this, step, problem] { on_written(step, problem); });
      });
  if (auto s = snapshots_->newest()) {
    const uint64_t step = s->step;
    take_up(std::move(*s));
    log_info(text("port ", port(), ": took up the snapshot of step ", step, " of the job '",
                  identity_->job, "'"));
  }
}

Shard::~Shard() { snapshots_.reset(); }

void Shard::accept(tcp::socket socket) { peers_.emplace_back(*this, std::move(socket)); }

void Shard::run() {
  flush_denormals();
  listener_.accept([this](tcp::socket s) { accept(std::move(s)); });
  asio::co_spawn(io_, sweep_every_second(), asio::detached);
  loop();
}

void Shard::loop() {
  wire::Spin spin(options_.spin_microseconds);
  for (;;) {
    const Time before = Clock::now();
    if (io_.run_one() == 0) return;
    spin.slept(Clock::now() - before);
    spin.look(io_, [this] { return io_.stopped(); });
  }
}

void Shard::stop() {
  asio::post(io_, [this] {
    if (stopping_) return;
    stopping_ = true;
    listener_.stop();
    const bool waits = snapshots_ && state_ == wire::ShardState::ready && sync() && !even();
    if (!waits) return finish_stop();
    settle_version_ = highest_version();
    settle_until_ = Clock::now() + std::chrono::seconds(settle_seconds);
  });
}

// All slices are at the same version, so that a snapshot of this moment makes sense.
bool Shard::even() const { return lowest_version() == highest_version(); }

uint64_t Shard::highest_version() const {
  uint64_t high = base_step_;
  if (store_)
    for (const Slice& s : store_->slices()) high = std::max(high, s.version());
  return high;
}

// While it stops, a shard whose slices stand between two steps takes what the slower ones lack.
bool Shard::settles(const wire::Body& body) {
  if (settle_until_ == Time{} || state_ != wire::ShardState::ready) return false;
  if (std::holds_alternative<wire::Pull>(body)) return true;
  const auto* push = std::get_if<wire::Push>(&body);
  const Slice* slice = push && !push->parts.empty() ? store_->slice(push->parts[0].slice) : nullptr;
  return slice != nullptr && slice->version() < settle_version_;
}

// Every update that was begun is done: updates and this run in one thread.
void Shard::finish_stop() {
  if (io_.stopped()) return;
  if (snapshots_ && state_ == wire::ShardState::ready && !store_->slices().empty()) {
    if (!sync() || even())
      snapshot_all(lowest_version());
    else
      log_warn(text("port ", port(),
                    ": slices stand between two steps, so there is no snapshot "
                    "of this moment; the one before stays"));
  }
  state_ = wire::ShardState::stopping;
  for (Peer& p : peers_)
    if (p.connection->open() && p.greeted) {
      fail(p, 0, Code::stopping, "this pserver is going down");
      p.connection->flush();
    }
  if (snapshots_) snapshots_->drain();
  end_loop();
}

void Shard::end_loop() {
  std::vector<Peer*> open;
  for (Peer& p : peers_)
    if (p.connection->open()) open.push_back(&p);
  for (Peer* p : open) p->connection->close("this pserver is going down");
  io_.stop();
}

void Shard::become_empty(const std::string& why) {
  drop_store(why);
  state_ = wire::ShardState::empty;
  configured_by_.clear();
  init_.clear();
}

}  // namespace paddle
