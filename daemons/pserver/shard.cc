#include "pserver/shard.h"

#include <sys/random.h>

#include <algorithm>

#include "base/log.h"
#include "obs/progress.h"
#include "wire/spin.h"

namespace paddle {
namespace {

constexpr double greeting_seconds = 10, frame_seconds = 30, reading_seconds = 60;
constexpr int settle_seconds = 2;  // for the step at hand, when a signal asks to stop
constexpr uint64_t max_discard = uint64_t{1} << 32;  // bulk that is read only to be thrown away
constexpr size_t errors_kept = 10;

uint64_t random_number() {
  uint64_t n = 0;
  if (::getrandom(&n, sizeof n, 0) != sizeof n)
    n = static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  return n | 1;
}

double seconds(Time from, Time to) { return std::chrono::duration<double>(to - from).count(); }

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
    const bool waits = snapshots_ && state_ == msg::ShardState::ready && sync() && !even();
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
bool Shard::settles(const msg::Message& head) {
  if (settle_until_ == Time{} || state_ != msg::ShardState::ready) return false;
  if (head.body_as_Pull() != nullptr) return true;
  const msg::Push* push = head.body_as_Push();
  const Slice* slice = push ? store_->slice(push->slice()) : nullptr;
  return slice != nullptr && slice->version() < settle_version_;
}

// Every update that was begun is done: updates and this run in one thread.
void Shard::finish_stop() {
  if (io_.stopped()) return;
  if (snapshots_ && state_ == msg::ShardState::ready && !store_->slices().empty()) {
    if (!sync() || even())
      snapshot_all(lowest_version());
    else
      log_warn(text("port ", port(),
                    ": slices stand between two steps, so there is no snapshot "
                    "of this moment; the one before stays"));
  }
  state_ = msg::ShardState::stopping;
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

// ---- what peers say

// Bulk for which there is no place is let through unread, and handle() answers why; nothing is
// read for strangers.
std::span<std::byte> Shard::land(Peer& peer, const msg::Message& head, uint64_t bulk) {
  peer.in_place = false;
  peer.landing = {};
  require(peer.is_trainer() && (head.body_as_Push() || head.body_as_SetValue()),
          Error::Kind::protocol, "a message of type ", msg::EnumNameBody(head.body_type()),
          " with ", bulk, " bytes of bulk");
  require(bulk <= max_discard, Error::Kind::protocol, "a message with ", bulk, " bytes of bulk");
  if (const auto* set = head.body_as_SetValue()) return land_value(peer, *set, bulk);
  const Verdict v = check_push(peer, *head.body_as_Push(), bulk);
  if (v.kind != Verdict::Kind::take && v.kind != Verdict::Kind::drop) return {};
  peer.in_place = true;
  peer.landing.slice = v.slice;
  return v.slice->inbox(peer.trainer);
}

// Looks for NaN and Inf while the numbers are in the cache.
void Shard::landed(Peer& peer, std::span<const std::byte> part) {
  auto& l = peer.landing;
  if (l.slice == nullptr) return;
  l.come += part.size();
  const size_t whole = l.come == l.slice->bytes() ? l.come : l.come / 8 * 8;  // elements
  l.finite = l.finite && l.slice->finite(peer.trainer, l.seen, whole - l.seen);
  l.seen = whole;
}

void Shard::handle(Peer& peer, const msg::Message& head, uint64_t bulk) {
  dispatch(peer, head, bulk);
  peer.in_place = false;
  peer.landing = {};
  if (settle_until_ != Time{} && even()) asio::post(io_, [this] { finish_stop(); });
}

void Shard::dispatch(Peer& peer, const msg::Message& head, uint64_t bulk) {
  const uint64_t id = head.id();
  if (const auto* m = head.body_as_Hello()) return hello(peer, id, *m);
  require(peer.greeted, Error::Kind::protocol, "a message of type ",
          msg::EnumNameBody(head.body_type()), " before the greeting");
  if (head.body_type() == msg::Body::StatusAsk) return status(peer, id);
  require(peer.role != msg::Role::observer, Error::Kind::protocol,
          "an observer may ask for the status only");
  if (const auto* m = head.body_as_Beat()) return beat(peer, id, *m);
  if (stopping_ && !settles(head))
    return fail(peer, id, Code::stopping, "this pserver is going down");
  members_->heard(peer.trainer, peer.connection->last_heard());
  require(peer.role == msg::Role::trainer, Error::Kind::protocol,
          "a connection for heartbeats carries nothing else");
  switch (head.body_type()) {
    case msg::Body::Push: return push(peer, id, *head.body_as_Push(), bulk);
    case msg::Body::Pull: return pull(peer, id, *head.body_as_Pull());
    case msg::Body::Configure: return configure(peer, id, *head.body_as_Configure());
    case msg::Body::SetValue: return set_value(peer, id, *head.body_as_SetValue(), bulk);
    case msg::Body::Join: return join(peer, id, *head.body_as_Join());
    case msg::Body::Fetch: return fetch(peer, id, *head.body_as_Fetch());
    case msg::Body::Rollback: return rollback(peer, id, *head.body_as_Rollback());
    case msg::Body::Complete: return complete(peer, id, *head.body_as_Complete());
    default:
      throw Error(Error::Kind::protocol, "a message of type ", msg::EnumNameBody(head.body_type()),
                  ", which nobody sends to a pserver");
  }
}

// ---- answers

void Shard::touch(Peer& peer) {
  if (peer.touched) return;
  peer.touched = true;
  touched_.push_back(&peer);
}

void Shard::arrived() {
  for (size_t i = 0; i < touched_.size(); ++i) {  // flush() may close, and so touch others
    touched_[i]->touched = false;
    touched_[i]->connection->flush();
  }
  touched_.clear();
}

void Shard::ack(Peer& peer, uint64_t id, wire::Bytes bulk) {
  peer.connection->send(id, msg::CreateAck(peer.connection->builder()), bulk, wire::Bulk::changes);
  touch(peer);
}

void Shard::fail(Peer& peer, uint64_t id, Code code, const std::string& why) {
  auto& b = peer.connection->builder();
  peer.connection->send(id, msg::CreateFailure(b, code, b.CreateString(why)));
  touch(peer);
}

void Shard::refuse(Peer& peer, uint64_t id, Code code, const std::string& why) {
  fail(peer, id, code, why);
  peer.connection->flush();
  peer.connection->close(why);
}

void Shard::note_error(const std::string& sentence) {
  log_error(text("port ", port(), ": ", sentence));
  last_errors_.push_back(sentence);
  if (last_errors_.size() > errors_kept) last_errors_.pop_front();
}

// ---- connections that end

void Shard::closed(Peer& peer, const std::string& why) {
  bytes_in_ += peer.connection->bytes_in();
  bytes_out_ += peer.connection->bytes_out();
  for (Round& r : rounds_)
    std::erase_if(r.pulls, [&](const Waiting& w) { return w.peer == &peer; });
  const Time now = Clock::now();
  if (!peer.greeted) {
    const std::string line =
        text("port ", port(), ": closed the connection of ", peer.connection->peer(), ": ", why);
    // Who says nothing only looked whether the port is open.
    peer.connection->bytes_in() == 0 ? log_detail(1, line) : log_warn(line);
  } else if (peer.is_trainer())
    log_info(text("port ", port(), ": the connection of ", peer.name(), " ended: ", why));
  if (peer.greeted && members_ && peer.role != msg::Role::observer)
    members_->closed(peer.trainer, peer.incarnation, now);
  if (configurer_ == &peer)
    become_empty(text(peer.name(), " left while it was sending the first values"));
  asio::post(io_, [this, &peer] { forget_peer(peer); });
}

// Not in closed(): the connection still stands in a method of the peer.
void Shard::forget_peer(Peer& peer) {
  std::erase(touched_, &peer);
  peers_.remove_if([&](const Peer& p) { return &p == &peer; });
  const bool trainers = std::any_of(peers_.begin(), peers_.end(), [](const Peer& p) {
    return p.greeted && p.role != msg::Role::observer;
  });
  if (trainers || stopping_) return;
  // An identity that nobody stands for any more binds nobody.
  if (state_ == msg::ShardState::empty) {
    identity_.reset();
    members_.reset();
  }
  check_done(Clock::now());
}

void Shard::become_empty(const std::string& why) {
  drop_store(why);
  state_ = msg::ShardState::empty;
  configured_by_.clear();
  init_.clear();
}

// ---- once a second

asio::awaitable<void> Shard::sweep_every_second() {
  for (;;) {
    timer_.expires_after(std::chrono::seconds(1));
    boost::system::error_code error;
    co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, error));
    if (error) co_return;
    const Time now = Clock::now();
    if (settle_until_ != Time{} && now > settle_until_) finish_stop();
    if (!stopping_) sweep(now);
    arrived();
  }
}

void Shard::sweep(Time now) {
  std::vector<Peer*> open;
  for (Peer& p : peers_)
    if (p.connection->open()) open.push_back(&p);
  for (Peer* p : open) sweep_peer(*p, now);
  if (members_) {
    for (const uint32_t t : members_->sweep(now)) lose(t);
    if (!members_->failure().empty()) fail_job(members_->failure());
  }
  say_waits(now);
  measure_rate(now);
  check_done(now);
}

void Shard::sweep_peer(Peer& p, Time now) {
  wire::Connection& c = *p.connection;
  if (!p.greeted && seconds(c.since(), now) > greeting_seconds)
    return c.close(text("no greeting for ", greeting_seconds, " s"));
  if (c.within_frame() && seconds(c.last_heard(), now) > frame_seconds)
    return c.close(text("half a message, and nothing more for ", frame_seconds, " s"));
  if (c.queued() == 0 || c.bytes_out() != p.sent_before) {
    p.sent_before = c.bytes_out();
    p.progress = now;
  } else if (seconds(p.progress, now) > reading_seconds) {
    c.close(text("it has not read its answers for ", reading_seconds, " s"));
  }
}

// Its connections end, so that nothing of the past can arrive any more.
void Shard::lose(uint32_t trainer) {
  note_error(text(members_->name(trainer), " was lost"));
  std::vector<Peer*> its;
  for (Peer& p : peers_)
    if (p.greeted && p.role != msg::Role::observer && p.trainer == trainer && p.connection->open())
      its.push_back(&p);
  for (Peer* p : its) {
    fail(*p, 0, Code::expired, text("trainer ", trainer, " was lost: greet again"));
    p->connection->flush();
    p->connection->close("its lease has ended");
  }
  close_ready_rounds();
}

void Shard::fail_job(const std::string& why) {
  members_->fail(why);
  if (last_failure_ == why) return;
  last_failure_ = why;
  note_error(why);
  fail_pending(Code::job_failed, why);
}

void Shard::fail_pending(Code code, const std::string& why) {
  for (Round& r : rounds_) {
    std::vector<Waiting> pulls;
    std::swap(pulls, r.pulls);
    for (const Waiting& w : pulls)
      if (w.peer->connection->open()) fail(*w.peer, w.id, code, why);
  }
}

// A wait for the same step: said every few seconds, and ended after peer_timeout where it is for a
// trainer that is not there. One that is there may take its time.
void Shard::say_waits(Time now) {
  const std::string words = waiting_text(now);
  if (words.empty()) {
    waiting_since_ = {};
    return;
  }
  if (waiting_since_ == Time{} || waiting_step_ != lowest_version()) {
    waiting_since_ = now;
    waiting_step_ = lowest_version();
    next_wait_line_ = now + std::chrono::seconds(5);
  }
  const double waited = seconds(waiting_since_, now);
  if (state_ == msg::ShardState::ready && waited > options_.peer_timeout) {
    const auto awaited = present_wait().trainers;
    const bool gone = std::any_of(awaited.begin(), awaited.end(), [&](uint32_t t) {
      return (*members_)[t].state != MemberState::joined;
    });
    if (gone) fail_job(text("gave up after ", duration_text(waited), " (--peer_timeout): ", words));
  }
  if (now < next_wait_line_) return;
  log_info(text("port ", port(), ": ", words));
  next_wait_line_ = now + std::chrono::seconds(waited < 60 ? 5 : 60);
}

void Shard::check_done(Time now) {
  if (done_ || stopping_ || !members_) return;
  const bool failed = !members_->failure().empty();
  const bool nobody = std::none_of(peers_.begin(), peers_.end(), [](const Peer& p) {
    return p.is_trainer() && p.connection->open();
  });
  if (failed ? !nobody : !members_->all_done(now)) return;
  log_info(
      text("port ", port(), ": the job '", identity_->job, failed ? "' has failed" : "' is done"));
  done_ = options_.exit_when_done;
  if (snapshots_ && !failed) {
    snapshots_->drain();
    snapshots_->mark_ended();
  }
  become_empty("the job has ended");
  std::vector<Peer*> left;  // the next job knows nothing of them
  for (Peer& p : peers_)
    if (p.greeted && p.role != msg::Role::observer && p.connection->open()) left.push_back(&p);
  for (Peer* p : left) p->connection->close("the job has ended");
  identity_.reset();
  members_.reset();
  epoch_ = 0;
  if (done_ && options_.on_done) options_.on_done();
}

}  // namespace paddle
