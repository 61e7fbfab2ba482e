#include "pserver/shard.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "graph/text.h"
#include "pserver/identity.h"
#include "pserver/requests.h"
#include "wire/frame.h"

namespace paddle {
namespace {

using Code = wire::FailureCode;

constexpr int64_t max_observers = 64;  // at a time; and admins
constexpr auto longest_between_ticks = std::chrono::seconds(4);
constexpr uint64_t max_discard = uint64_t{1} << 32;  // bulk that is read only to be thrown away

// "" where the trainer fits the pserver and its job.
std::string mismatch(const Context& context, const Job* job, bool has_snapshots,
                     const wire::Hello& h) {
  const std::string why = options_mismatch(context.options, h);
  if (!why.empty() || job == nullptr) return why;
  const bool no_trainer_connected = std::none_of(context.peers.begin(), context.peers.end(),
                                                 [](const Peer& p) { return p.is_trainer(); });
  return identity_mismatch(
      job->state().identity, h,
      no_trainer_connected
          ? text("; nobody of that job is connected: if it is over, start this pserver again",
                 has_snapshots ? " with another --snapshot_dir" : "")
          : "");
}

EndedJob ended_job(const JobState& state) {
  EndedJob out{.job = escaped(state.identity.job),
               .program = escaped(state.identity.program),
               .trainers = state.identity.trainers};
  for (const Member& m : state.members.all())
    if (m.holder.incarnation) out.processes.push_back(m.holder.incarnation.process);
  return out;
}

void refuse(Context& context, PeerId peer, uint64_t id, Code code, const std::string& why) {
  context.out.fail(peer, id, code, why);
  context.out.close(peer, why);
}

// A trainer that has done its work disconnects: that is no failure and must not read like one.
void log_disconnection(const Context& context, const std::optional<Job>& job, const Peer& peer,
                       const std::string& why) {
  const bool member = job && job->state().members.has(peer.trainer);
  const MemberState state = member ? job->state().members[peer.trainer].state : MemberState::absent;
  if (state == MemberState::finished || state == MemberState::gone)
    log_detail(1, text(context.label, peer.name(), " disconnected (finished)"));
  else if (!job)
    log_detail(1, text(context.label, peer.name(), " disconnected (the job has ended)"));
  else if (member && state == MemberState::absent)  // as every one does on its way into a job
    context.info(text(peer.name(), " disconnected before it joined (", why, ")"));
  else
    context.info(text("the connection of ", peer.name(), " ended: ", why));
}

// Answers where it may not.
bool may_begin_job(Context& context, LastJob& last_job, PeerId from, uint64_t id,
                   const wire::Hello& h) {
  using Verdict = LastJob::Answer::Verdict;
  if (h.role == wire::Role::beat) {  // its data connection begins a job, where that is right
    context.peers[from].waits = true;
    refuse(context, from, id, Code::stale_epoch, "there is no job here");
    return false;
  }
  const LastJob::Answer a = last_job.ask(h, context.now);
  if (a.verdict == Verdict::begins) return true;
  const bool waits = context.peers[from].waits = a.verdict == Verdict::wait;
  if (!waits) context.error(text(h.process, " was refused: ", a.why));
  if (a.first) context.info(text(h.process, " has to wait: ", a.why));
  refuse(context, from, id,
         waits                        ? Code::wait
         : a.verdict == Verdict::over ? Code::job_over
                                      : Code::refused,
         a.why);
  return false;
}

bool goes_back_to_work(const wire::Body& body) {
  return std::holds_alternative<wire::Configure>(body) ||
         std::holds_alternative<wire::Join>(body) || std::holds_alternative<wire::Rollback>(body);
}

// No step is computed after this. It is on the disk before any trainer gets it: so the others get
// it also from a pserver that was killed meanwhile.
void remember_if_saved(SnapshotMaker& maker, const JobState& job) {
  if (maker.on() && has_result(job.members)) maker.mark_ended(ended_job(job));
}

}  // namespace

Shard::Shard(const ShardOptions& options, SnapshotDisk* disk, std::string label, uint64_t instance,
             Time now)
    : context_{.options = options, .label = std::move(label), .instance = instance, .now = now},
      maker_(disk, options.snapshots),
      started_(now),
      last_job_(options.peer_timeout) {
  if (disk == nullptr) return;
  if (auto ended = disk->ended()) last_job_.remember(std::move(*ended), now);
  disk->restore([&](Snapshot s) {
    const uint64_t step = s.step;
    job_.emplace(context_, maker_, std::move(s));
    context_.info(text("restored the snapshot of step ", step, " of the job '",
                       job_->state().identity.job, "'"));
  });
}

// ---- connections

void Shard::opened(PeerId peer, std::string address, Time now, const wire::Proof& proof) {
  context_.now = now;
  if (context_.peers.size() <= peer) context_.peers.resize(peer + 1);
  context_.peers[peer] = {.open = true, .address = std::move(address), .proof = proof};
}

void Shard::gone(PeerId from, const std::string& why, Time now) {
  context_.now = now;
  Peer& peer = context_.peers[from];
  if (!peer.open) return;
  if (peer.is_trainer()) log_disconnection(context_, job_, peer, why);
  peer.open = false;
  if (job_) job_->gone(from);
  orders_.gone(from);
  peer = {};
  const bool members = std::any_of(context_.peers.begin(), context_.peers.end(),
                                   [](const Peer& p) { return p.is_member(); });
  if (members || stopping_.begun()) return;
  // Where all its trainers have left before there were values, other trainers may begin another
  // job.
  if (job_ && job_->values().state() == wire::ShardState::empty && job_->state().failure.empty())
    job_.reset();
  end_job_if_done();
}

// ---- messages

LandingPlace Shard::land(PeerId peer, const wire::Message& m, uint64_t bulk, Time now) {
  context_.now = now;
  const auto* push = std::get_if<wire::Push>(&m.body);
  const auto* set = std::get_if<wire::SetValue>(&m.body);
  const auto* rows = std::get_if<wire::SetRows>(&m.body);
  const auto* pull_rows = std::get_if<wire::PullRows>(&m.body);
  require(context_.peers[peer].is_trainer() && (push || set || rows || pull_rows),
          Error::Kind::protocol, "a message of type ", wire::name_of(m.body), " with ", bulk,
          " bytes of bulk");
  require(bulk <= max_discard, Error::Kind::protocol, "a message with ", bulk, " bytes of bulk");
  if (!job_ || !job_->state().failure.empty()) return {};
  if (set) return job_->values().land(peer, *set, bulk);
  if (rows) return job_->values().land(peer, *rows, bulk);
  if (!job_->exchange()) return {};
  if (pull_rows) return job_->exchange()->row_pulls().land(peer, *pull_rows, bulk);
  const LandingPlace place = job_->exchange()->land(peer, *push, bulk);
  if (place.kind == LandingPlace::Kind::hold) context_.peers[peer].held = true;
  return place;
}

void Shard::landed(PeerId peer, size_t bytes) {
  if (job_ && job_->exchange()) job_->exchange()->landed(peer, bytes);
}

void Shard::handle(PeerId peer, wire::Message& m, uint64_t bulk, Time now) {
  context_.now = now;
  dispatch(peer, m, bulk);
  if (maker_.unfinished()) context_.out.continues = true;
  if (stopping_.settles() && (!job_ || job_->state().same_version()))
    stopping_.finish(context_, maker_, job());
}

void Shard::dispatch(PeerId peer, wire::Message& m, uint64_t bulk) {
  const uint64_t id = m.id;
  if (const auto* b = std::get_if<wire::Hello>(&m.body)) return hello(peer, id, *b);
  const Peer& from = context_.peers[peer];
  require(from.greeted, Error::Kind::protocol, "a message of type ", wire::name_of(m.body),
          " before the greeting");
  if (std::holds_alternative<wire::StatusAsk>(m.body))
    return context_.out.send(peer, id, status(context_.now));
  if (const auto* b = std::get_if<wire::Command>(&m.body)) {
    require(from.role == wire::Role::admin, Error::Kind::protocol, "only an admin may command");
    if (stopping_.begun()) return context_.out.fail(peer, id, Code::stopping, shard_stopping);
    return orders_.take(context_, maker_, job(), peer, id, *b);
  }
  require(wire::takes_part(from.role), Error::Kind::protocol,
          "who is no trainer may ask for the status only");
  if (!job_) return refuse(context_, peer, id, Code::stale_epoch, "the job has ended");
  if (const auto* b = std::get_if<wire::Progress>(&m.body)) return job_->beat(peer, id, *b);
  if (auto* b = std::get_if<wire::Tally>(&m.body))
    return job_->totals().take(from.trainer, std::move(*b));
  if (stopping_.begun() && !stopping_.accepts(*job_, m)) {
    if (job_->exchange()) job_->exchange()->discard(peer);
    return context_.out.fail(peer, id, Code::stopping, shard_stopping);
  }
  require(from.role == wire::Role::trainer, Error::Kind::protocol,
          "a connection for heartbeats carries nothing else");
  // What was held lay in the socket: whether its sender still runs is not known.
  if (!std::exchange(context_.peers[peer].held, false)) job_->heard(from);
  if (const auto* b = std::get_if<wire::Push>(&m.body))
    return push(context_, *job_, peer, id, *b, bulk);
  if (const auto* b = std::get_if<wire::Pull>(&m.body)) return pull(context_, *job_, peer, id, *b);
  if (const auto* b = std::get_if<wire::PullRows>(&m.body))
    return pull_rows(context_, *job_, peer, id, *b, bulk);
  if (const auto* b = std::get_if<wire::SetValue>(&m.body))
    return job_->values().set_value(peer, id, *b, bulk);
  if (const auto* b = std::get_if<wire::SetRows>(&m.body))
    return job_->values().set_value(peer, id, *b, bulk);
  if (goes_back_to_work(m.body) && from.trainer != 0 && has_result(job_->state().members))
    return context_.out.fail(peer, id, Code::stale_epoch,
                             "the job has its result, and computes no more steps: greet again");
  if (auto* b = std::get_if<wire::Configure>(&m.body))
    return job_->values().configure(peer, id, std::move(*b));
  if (const auto* b = std::get_if<wire::Join>(&m.body)) return job_->join(peer, id, *b);
  if (const auto* b = std::get_if<wire::Fetch>(&m.body))
    return fetch(context_, *job_, peer, id, *b);
  if (const auto* b = std::get_if<wire::FetchRows>(&m.body))
    return fetch_rows(context_, *job_, peer, id, *b);
  if (const auto* b = std::get_if<wire::Rollback>(&m.body))
    return job_->values().rollback(peer, id, *b);
  const auto* complete = std::get_if<wire::Complete>(&m.body);
  require(complete != nullptr, Error::Kind::protocol, "a message of type ", wire::name_of(m.body),
          ", which nobody sends to a pserver");
  job_->complete(peer, id, *complete);
  remember_if_saved(maker_, job_->state());
  end_job_if_done();
}

void Shard::hello(PeerId from, uint64_t id, const wire::Hello& h) {
  Peer& peer = context_.peers[from];
  require(!peer.greeted, Error::Kind::protocol, "a second greeting on one connection");
  check_hello(h);
  peer.process = h.process;
  peer.role = h.role;
  if (h.protocol != wire::protocol_version)
    return refuse(context_, from, id, Code::refused,
                  text("the protocol differs: this pserver uses version ", wire::protocol_version,
                       " (", build_text(), "), ", peer.process, " uses ", h.protocol, " (", h.build,
                       "); install the same version on all machines"));
  if (const std::string why = wire::refusal_of(peer.proof, h); !why.empty()) {
    context_.error(text(peer.process, " at ", peer.address, " was refused: ", why));
    return refuse(context_, from, id, Code::refused, why);
  }
  if (!wire::takes_part(h.role)) {
    const auto same =
        std::count_if(context_.peers.begin(), context_.peers.end(),
                      [&](const Peer& p) { return p.open && p.greeted && p.role == h.role; });
    if (same >= max_observers)  // observers keep no admin out
      return refuse(
          context_, from, id, Code::refused,
          text("this pserver has ", same, h.role == wire::Role::admin ? " admins" : " observers",
               " already: end some of them"));
    peer.greeted = true;
  } else {
    if (stopping_.begun()) return refuse(context_, from, id, Code::stopping, shard_stopping);
    release_identity(h);
    const std::string why = mismatch(context_, job(), maker_.on(), h);
    if (!why.empty()) {
      context_.error(text(peer.process, " was refused: ", why));
      return refuse(context_, from, id, Code::refused, why);
    }
    const bool begins = !job_;
    if (begins && !may_begin_job(context_, last_job_, from, id, h)) return;
    if (begins) job_.emplace(context_, maker_, identity_of(h));
    if (!job_->admit(from, id, h)) {
      if (begins) job_.reset();  // it was refused: others may begin another job
      return;
    }
  }
  wire::Welcome w = welcome(context_, job(), maker_, peer);
  context_.out.send(from, id, std::move(w));
}

// Where a trainer's configuration was refused, a trainer with another program may begin its own
// job, also while the first one is still connected.
void Shard::release_identity(const wire::Hello& h) {
  if (!job_ || job_->values().bind() || identity_mismatch(job_->state().identity, h, "").empty())
    return;
  context_.info(text(h.process, " brings another program than the one of ",
                     job_->state().identity.set_by, ", which was refused"));
  drop_job("its configuration was refused, and another trainer brings its own");
}

// ---- other events

// A process that was stopped, with its machine or alone, finds everybody silent when it wakes: what
// they have sent meanwhile was not read yet.
void Shard::tick(Time now) {
  context_.now = now;
  const Time before = std::exchange(ticked_, now);
  if (job_ && before != Time{} && now - before > longest_between_ticks)
    job_->stood_still(now - before);
  if (stopping_.overdue(now)) return stopping_.finish(context_, maker_, job());
  if (stopping_.begun() || !job_) return;
  job_->tick();
  job_->values().proceed();  // rows may have expired
  orders_.check(context_, job());
  end_job_if_done();
}

void Shard::proceed(Time now) {
  context_.now = now;
  if (!job_) return;
  const bool dumped = maker_.unfinished();
  job_->values().proceed();
  if (dumped && !maker_.unfinished()) job_->close_rounds();  // an update may have waited for it
}

void Shard::written(uint64_t step, const std::string& problem, Time now) {
  context_.now = now;
  maker_.written(step, problem.empty());
  if (problem.empty())
    log_detail(1, text(context_.label, "wrote the snapshot of step ", step));
  else
    context_.error(text("there is no snapshot of step ", step, ": ", problem,
                        "; training goes on, and the one before stays"));
  orders_.written(context_, job(), step, problem);
  if (!job_) return;
  job_->close_rounds();  // updates may have waited for the disk
  if (!stopping_.begun() && job_->state().exchange) {
    maker_.catch_up(job_->state().lowest_version());
    if (maker_.unfinished()) context_.out.continues = true;
  }
}

void Shard::end_job_if_done() {
  if (done_ || stopping_.begun() || !job_ || !job_->done()) return;
  failure_ = job_->state().failure;
  context_.info(text("the job '", job_->state().identity.job,
                     failure_.empty() ? "' is done" : "' has failed"));
  const Members& members = job_->state().members;
  if (failure_.empty() && members.has(0) && members[0].state == MemberState::lost)
    context_.warn(
        "trainer 0 was lost before it saved: there is no model of the end of this job; those of "
        "earlier passes are in its --save_dir");
  done_ = context_.options.exit_when_done;
  if (failure_.empty()) {
    const EndedJob ended = ended_job(job_->state());
    maker_.mark_ended(ended);
    last_job_.remember(ended, context_.now);
    job_->announce();  // trainer 0 stays until it hears that the others have left
  }
  drop_job("the job has ended");
  if (done_ && context_.options.calls.on_done) context_.options.calls.on_done();
}

// The next job knows nothing of its members.
void Shard::drop_job(const std::string& why) {
  job_.reset();
  orders_.check(context_, nullptr);
  for (PeerId p = 0; p < context_.peers.size(); ++p)
    if (context_.peers[p].is_member()) context_.out.close(p, why);
}

wire::Status Shard::status(Time now) {
  context_.now = now;
  wire::Status s = report(context_, job(), maker_);
  s.uptime = seconds(started_, now);
  if (stopping_.begun()) {
    s.state = wire::ShardState::stopping;
    s.waiting.clear();
  }
  return s;
}

}  // namespace paddle
