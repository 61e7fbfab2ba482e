// Once a second: deadlines of peers, leases of trainers, words about waits, the end of the job.
#include <algorithm>

#include "base/log.h"
#include "obs/progress.h"
#include "pserver/shard.h"

namespace paddle {
namespace {

constexpr double greeting_seconds = 10, frame_seconds = 30, reading_seconds = 60;
constexpr double slowest = 1024;  // bytes per second that a message must come with

}  // namespace

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
    check_saver(now);
  }
  say_waits(now);
  measure_rate(now);
  check_done(now);
}

void Shard::sweep_peer(Peer& p, Time now) {
  wire::Connection& c = *p.connection;
  if (!p.greeted && seconds(c.since(), now) > greeting_seconds)
    return c.close(text("no greeting for ", greeting_seconds, " s"));
  if (c.within_frame() && !c.held() && seconds(c.last_heard(), now) > frame_seconds)
    return c.close(text("half a message, and nothing more for ", frame_seconds, " s"));
  if (!c.within_frame() || c.held() || c.messages_in() != p.frame) {
    p.frame = c.messages_in();
    p.frame_bytes = c.bytes_in();
    p.frame_since = now;
  } else if (const double took = seconds(p.frame_since, now);
             took > frame_seconds &&
             static_cast<double>(c.bytes_in() - p.frame_bytes) < slowest * took) {
    return c.close(text("a message that comes with less than ", slowest, " bytes/s"));
  }
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
    if (p.greeted && p.role != wire::Role::observer && p.trainer == trainer && p.connection->open())
      its.push_back(&p);
  for (Peer* p : its) {
    fail(*p, 0, Code::expired, text("trainer ", trainer, " was lost: greet again"));
    p->connection->flush();
    p->connection->close("its lease has ended");
  }
  close_ready_rounds();
}

// Trainer 0 went away after all had finished and before it saved: the others stay for its return,
// but not for ever.
void Shard::check_saver(Time now) {
  const Member& m = (*members_)[0];
  if (m.state != MemberState::finished || m.connections > 0 ||
      members_->finished() < members_->count() || seconds(m.closed, now) < options_.peer_timeout)
    return;
  fail_job(text("gave up after ", duration_text(seconds(m.closed, now)),
                " (--peer_timeout): trainer 0 has finished, and went away before it saved"));
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
  if (state_ == wire::ShardState::ready && waited > options_.peer_timeout) {
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
    if (p.greeted && p.role != wire::Role::observer && p.connection->open()) left.push_back(&p);
  for (Peer* p : left) p->connection->close("the job has ended");
  identity_.reset();
  members_.reset();
  epoch_ = 0;
  if (done_ && options_.on_done) options_.on_done();
}

}  // namespace paddle
