#include "pserver/service.h"

#include <sys/random.h>
#include <time.h>

#include <algorithm>

#include "base/log.h"
#include "wire/spin.h"

namespace paddle {
namespace {

uint64_t random_number() {
  uint64_t n = 0;
  if (::getrandom(&n, sizeof n, 0) != sizeof n)
    n = static_cast<uint64_t>(Clock::now().time_since_epoch().count());
  return n | 1;
}

double thread_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

wire::Reach reach_of(const ListenOptions& o) {
  return o.credentials || o.insecure ? wire::Reach::everywhere : wire::Reach::loopback;
}

const wire::Limits& limits_of(const Peer& peer) {
  if (!peer.greeted) return wire::greeting_limits;
  if (!wire::takes_part(peer.role)) return wire::observer_limits;
  return peer.role == wire::Role::beat ? wire::beat_limits : wire::trainer_limits;
}

}  // namespace

Service::Service(ShardOptions options)
    : options_(std::move(options)),
      listener_(io_, options_.listen.host, options_.listen.port, reach_of(options_.listen)),
      gate_(io_, options_.listen.credentials),
      timer_(io_) {
  if (options_.listen.shared_memory && !options_.listen.credentials.tls)
    listener_.share_memory(options_.memory ? &options_.memory->whole : nullptr);
  gate_.set_label(text("port ", port(), ": "));
  if (!options_.snapshots.directory.empty())
    disk_ = std::make_unique<Snapshots>(
        options_.snapshots, text(options_.sparse ? "sparse-" : "shard-", options_.index),
        [this](uint64_t step, const std::string& problem) {
          asio::post(io_, [this, step, problem] { written(step, problem); });
        },
        [this] { asio::post(io_, [this] { proceed(); }); });
  shard_ = std::make_unique<Shard>(options_, disk_.get(), text("port ", port(), ": "),
                                   random_number(), Clock::now());
  shard_->set_background([this](std::function<void()> work) {
    background_ =
        std::thread([this, work = std::move(work), before = std::move(background_)]() mutable {
          if (before.joinable()) before.join();  // one after the other
          work();
          asio::post(io_, [this] { proceed(); });
        });
  });
}

// The disk's thread posts to the io_context, and a shard may ask the disk until it is gone.
Service::~Service() {
  if (background_.joinable()) background_.join();
  shard_.reset();
  disk_.reset();
}

void Service::run() {
  flush_denormals();
  listener_.accept([this](std::unique_ptr<wire::Stream> s) {
    gate_.take(std::move(s),
               [this](std::unique_ptr<wire::Stream> proven, const wire::Proof& proof) {
                 accept(std::move(proven), proof);
               });
  });
  asio::co_spawn(io_, tick_every_second(), asio::detached);
  report();
  wire::Spin spin(options_.listen.spin_microseconds);
  for (;;) {
    const Time before = Clock::now();
    if (io_.run_one() == 0) break;
    spin.slept(Clock::now() - before);
    spin.look(io_, [this] { return io_.stopped(); });
  }
  if (disk_) disk_->drain();
}

void Service::stop() {
  asio::post(io_, [this] {
    listener_.stop();
    shard_->stop(Clock::now());
    act();
    flush();
  });
}

// ---- connections

void Service::accept(std::unique_ptr<wire::Stream> stream, const wire::Proof& proof) {
  make_place();
  const auto free = std::find(links_.begin(), links_.end(), nullptr);
  const auto id = static_cast<PeerId>(free - links_.begin());
  if (free == links_.end()) links_.emplace_back();
  links_[id] = std::make_unique<PeerLink>(*this, id);
  links_[id]->start(std::move(stream));
  shard_->opened(id, links_[id]->connection().peer(), Clock::now(), proof);
}

// Who greets does it at once: of many that do not, the oldest has to go. So nobody keeps others out
// by connections alone.
void Service::make_place() {
  constexpr size_t max_waiting = 256;
  size_t waiting = 0;
  PeerLink* oldest = nullptr;
  for (const auto& l : links_) {
    if (!l || !l->open() || shard_->peer(l->id()).greeted) continue;
    ++waiting;
    if (oldest == nullptr || l->connection().since() < oldest->connection().since())
      oldest = l.get();
  }
  if (waiting >= max_waiting)
    oldest->connection().close(text("no greeting, and ", waiting, " connections are without one"));
}

wire::Landing Service::land(PeerLink& link, const wire::Message& message, uint64_t bulk) {
  const LandingPlace place = shard_->land(link.id(), message, bulk, link.connection().last_heard());
  act();
  if (place.kind == LandingPlace::Kind::into) return wire::Landing::into(place.memory);
  return place.kind == LandingPlace::Kind::hold ? wire::Landing::hold() : wire::Landing::discard();
}

// Large parts may be used for an update here.
void Service::landed(PeerLink& link, size_t bytes) {
  constexpr size_t worth_a_clock = 64u << 10;
  const Time begin = bytes < worth_a_clock ? Time{} : Clock::now();
  shard_->landed(link.id(), bytes);
  if (begin != Time{}) longest_call_ = std::max(longest_call_, seconds(begin, Clock::now()));
}

void Service::handle(PeerLink& link, wire::Message& message, uint64_t bulk) {
  if (std::holds_alternative<wire::StatusAsk>(message.body)) count_traffic();
  const Time begin = Clock::now();
  try {
    shard_->handle(link.id(), message, bulk, begin);
  } catch (...) {  // ends this connection, and others have their answers
    act();
    throw;
  }
  longest_call_ = std::max(longest_call_, seconds(begin, Clock::now()));
  act();
  if (std::holds_alternative<wire::Hello>(message.body) && link.open())
    link.connection().set_limits(limits_of(shard_->peer(link.id())));
}

// Not handled at once: the connection still stands in a method of the link, or the shard's actions
// are being carried out.
void Service::closed(PeerLink& link, const std::string& why) {
  if (link.ended) return;
  link.ended = true;
  asio::post(io_, [this, id = link.id(), why] {
    PeerLink& ended = *links_[id];
    const Time now = Clock::now();
    shard_->set_traffic(id, ended.traffic());
    ended_ += ended.traffic();
    if (!shard_->peer(id).greeted) {
      const std::string line = text("port ", port(), ": closed the connection of ",
                                    ended.connection().peer(), ": ", why);
      // Port probes (no bytes, closed within 2 s) are logged at a higher level of detail.
      const bool probe =
          ended.connection().bytes_in() == 0 && seconds(ended.connection().since(), now) < 2;
      probe || shard_->peer(id).waits ? log_detail(1, line) : log_warn(line);
    }
    shard_->gone(id, why, now);
    act();
    flush();
    std::erase(touched_, &ended);
    links_[id].reset();
  });
}

void Service::flush() {
  for (size_t i = 0; i < touched_.size(); ++i) {  // flush() may close, and so touch others
    touched_[i]->touched = false;
    touched_[i]->connection().flush();
  }
  touched_.clear();
}

// ---- other events

asio::awaitable<void> Service::tick_every_second() {
  for (;;) {
    timer_.expires_after(std::chrono::seconds(1));
    boost::system::error_code error;
    co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, error));
    if (error) co_return;
    tick();
  }
}

void Service::tick() {
  const Time now = Clock::now();
  if (!shard_->stopping())
    for (size_t i = 0; i < links_.size(); ++i)
      if (links_[i] && links_[i]->open())
        links_[i]->check_deadlines(shard_->peer(links_[i]->id()), now);
  shard_->tick(now);
  if (options_.calls.on_tick) options_.calls.on_tick();
  report();
  longest_call_ = std::max(longest_call_, seconds(now, Clock::now()));
  act();
  flush();
}

void Service::count_traffic() {
  for (const auto& l : links_)
    if (l && l->open()) shard_->set_traffic(l->id(), l->traffic());
}

void Service::report() {
  if (!options_.calls.on_report) return;
  count_traffic();
  options_.calls.on_report(complete_status(shard_->status(Clock::now())));
}

void Service::proceed() {
  proceeding_ = false;
  const Time begin = Clock::now();
  shard_->proceed(begin);
  longest_call_ = std::max(longest_call_, seconds(begin, Clock::now()));
  act();
  flush();
}

void Service::written(uint64_t step, const std::string& problem) {
  if (problem.empty()) snapshot_written_ = Clock::now();
  shard_->written(step, problem, Clock::now());
  act();
  flush();
}

// ---- actions

void Service::act() {
  if (acting_) return;
  acting_ = true;
  Outbox& out = shard_->outbox();
  for (size_t i = 0; i < out.size(); ++i) {
    ShardAction& a = out[i];
    PeerLink* link = a.peer < links_.size() ? links_[a.peer].get() : nullptr;
    if (link == nullptr || !link->open()) continue;
    if (a.kind == ShardAction::Kind::send) send(a);
    if (a.kind == ShardAction::Kind::resume) link->connection().resume();
    if (a.kind == ShardAction::Kind::close) {
      link->connection().flush();
      link->connection().close(a.why);
    }
  }
  if (out.drops_bulk) close_unsent();
  if (out.continues && !proceeding_) {
    proceeding_ = true;
    asio::post(io_, [this] { proceed(); });
  }
  const bool stopped = out.stopped;
  out.clear();
  acting_ = false;
  if (stopped) io_.stop();
}

void Service::send(ShardAction& a) {
  Outbox& out = shard_->outbox();
  PeerLink& link = *links_[a.peer];
  if (auto* status = std::get_if<wire::Status>(&a.body))
    *status = complete_status(std::move(*status));
  const Bytes kept(a.kept);
  link.connection().send(a.id, out.body(a), a.kept.empty() ? out.bulk(a) : std::span(&kept, 1),
                         a.stays  ? wire::Bulk::stays
                         : a.live ? wire::Bulk::live
                                  : wire::Bulk::changes);
  if (link.touched) return;
  link.touched = true;
  touched_.push_back(&link);
}

wire::Status Service::complete_status(wire::Status s) {
  Traffic all = ended_;
  for (const auto& l : links_)
    if (l && l->open()) all += l->traffic();
  s.bytes_in = all.bytes_in;
  s.bytes_out = all.bytes_out;
  s.messages_in = all.messages_in;
  s.messages_out = all.messages_out;
  s.cpu_seconds = thread_seconds();
  for (const auto& l : links_)
    if (l && l->open()) s.queued_bytes += l->connection().queued();
  if (disk_) {
    const Snapshots::Writes writes = disk_->writes();
    s.snapshots_written = writes.done;
    s.snapshots_failed = writes.failed;
    s.snapshot_seconds = writes.seconds;
    s.snapshot_last = writes.last;
  }
  if (snapshot_written_ != Time{}) s.snapshot_age = seconds(snapshot_written_, Clock::now());
  s.clock = unix_seconds();
  return s;
}

// What is small leaves at once; whoever has not taken the rest is sent nothing from memory that is
// gone.
void Service::close_unsent() {
  flush();
  for (const auto& l : links_)
    if (l && l->open() && shard_->peer(l->id()).is_trainer() && l->connection().queued() > 0)
      l->connection().close("the values that it was sent have been replaced");
  shard_->release_retired();
}

}  // namespace paddle
