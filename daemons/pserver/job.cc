// Who takes part: admission, joining, heartbeats, leaving, and what is looked after once a second.
#include "pserver/job.h"

#include <algorithm>

#include "base/suggest.h"
#include "base/wrap.h"
#include "obs/progress.h"

namespace paddle {
namespace {

using Code = wire::FailureCode;
constexpr size_t max_state_text = 256, max_error_text = 4096;

MemberOptions member_options(const ShardOptions& o, const Identity& i) {
  return {i.trainers, o.leases};
}

// "" where the trainer can join here; otherwise it has seen an old state and greets again.
std::string join_problem(const JobState& state, bool drops, uint32_t trainer, const wire::Join& j) {
  if (!state.exchange) return "this shard has no values yet";
  if (!state.sync()) return "";
  const Member& m = state.members[trainer];
  for (const Versioned* v : state.store->parts()) {
    const Versioned& s = *v;
    if (const uint64_t next = state.exchange->rounds().next_round(s);
        drops && j.step < next && m.expired)
      return text("trainer ", trainer, " cannot join at step ", j.step,
                  ": the job has reached step ", next);
    if (!drops && !m.contributed(s.info().place, s.version()) && j.step > s.version())
      return text("trainer ", trainer, " cannot join at step ", j.step, ": the slice '",
                  s.info().name, "' lacks its gradient of step ", s.version());
  }
  return "";
}

Code code_of(Admission::Verdict verdict) {
  using Verdict = Admission::Verdict;
  switch (verdict) {
    case Verdict::expired: return Code::expired;
    case Verdict::held: return Code::wait;
    case Verdict::taken: return Code::id_taken;
    default: return Code::refused;
  }
}

struct PresentWait {
  const Versioned* slice = nullptr;  // the open round that is furthest behind; null where none is
  std::vector<uint32_t> trainers;    // that it lacks, or that have not joined yet
};

PresentWait present_wait(const JobState& state) {
  PresentWait wait;
  const Rounds& rounds = state.exchange->rounds();
  for (const Versioned* s : state.store->parts())
    if (state.sync() && rounds.open(*s) && (!wait.slice || s->version() < wait.slice->version()))
      wait.slice = s;
  if (wait.slice) {
    wait.trainers = rounds.missing(*wait.slice);
    return wait;
  }
  // Where no round is open, those who have finished wait for one that was lost.
  const bool others_done =
      std::none_of(state.members.all().begin(), state.members.all().end(),
                   [](const Member& m) { return m.state == MemberState::joined; });
  for (const Member& m : state.members.all())
    if (m.state == MemberState::absent ||
        (m.state == MemberState::lost && others_done && state.members.required(m, 0)))
      wait.trainers.push_back(m.id);
  return wait;
}

}  // namespace

Job::Job(Context& context, SnapshotMaker& maker, Identity identity)
    : context_(context),
      state_{.identity = identity,
             .members = Members(member_options(context.options, identity), context.now)},
      values_(context, maker, state_, watch_),
      totals_(context, state_) {
  watch_.restart(0, context.now);
}

Job::Job(Context& context, SnapshotMaker& maker, Snapshot snapshot)
    : Job(context, maker, snapshot.identity) {
  values_.restore(std::move(snapshot));
}

// ---- messages

bool Job::admit(PeerId from, uint64_t id, const wire::Hello& h) {
  using Verdict = Admission::Verdict;
  Peer& peer = context_.peers[from];
  const Incarnation incarnation{h.incarnation, h.renewal};
  const auto a = state_.admissions.admit(
      state_.members, {h.trainer, h.takes_id, incarnation, h.process}, context_.now);
  if (a.verdict != Verdict::admitted) {
    if (a.verdict == Verdict::refused || a.verdict == Verdict::taken)
      context_.error(text(peer.process, " was refused: ", a.why));
    peer.waits = a.verdict == Verdict::held;
    if (peer.waits && a.first) context_.info(text(peer.process, " has to wait: ", a.why));
    context_.out.fail(from, id, code_of(a.verdict), a.why);
    context_.out.close(from, a.why);
    return false;
  }
  peer.greeted = true;
  peer.trainer = a.trainer;
  peer.incarnation = incarnation;
  // The same trainer on a new connection: what it sent on the old one is void, and so is everything
  // of an older incarnation.
  for (PeerId p = 0; p < context_.peers.size(); ++p) {
    const Peer& other = context_.peers[p];
    if (p == from || !other.is_member() || other.trainer != peer.trainer ||
        (other.role != peer.role && other.incarnation == incarnation))
      continue;
    if (state_.exchange) state_.exchange->abandon(p);
    context_.out.close(p, "the trainer has connected anew");
  }
  state_.members[peer.trainer].holder.opened(context_.now);
  if (peer.is_trainer()) context_.info(text(peer.name(), " connected from ", peer.address));
  close_rounds();
  return true;
}

void Job::join(PeerId peer, uint64_t id, const wire::Join& j) {
  if (j.epoch != state_.epoch)
    return context_.out.fail(
        peer, id, Code::stale_epoch,
        text("the job is in epoch ", state_.epoch, ", not ", j.epoch, ": greet again"));
  const uint32_t trainer = context_.peers[peer].trainer;
  const std::string why =
      join_problem(state_, context_.options.leases.policy == LossPolicy::drop, trainer, j);
  if (!why.empty()) return context_.out.fail(peer, id, Code::stale_epoch, why + ": greet again");
  const bool first = state_.members[trainer].state != MemberState::joined;
  state_.members.join(trainer, j.step, context_.now);
  if (Member& m = state_.members[trainer]; !m.resumed_at) m.resumed_at = j.step;
  if (first) context_.info(text(context_.peers[peer].name(), " joined at step ", j.step));
  context_.out.send(peer, id, wire::Ack{});
  close_rounds();  // under `drop` a later first round lets earlier ones close
}

void Job::complete(PeerId peer, uint64_t id, const wire::Complete& c) {
  const uint32_t trainer = context_.peers[peer].trainer;
  // It may have been sent before the job went back.
  if (c.phase == wire::Phase::finished && c.epoch != state_.epoch)
    return context_.out.fail(peer, id, Code::stale_epoch,
                             text("trainer ", trainer, " has finished the work of epoch ", c.epoch,
                                  ", and the job is in epoch ", state_.epoch, ": greet again"));
  if (c.phase == wire::Phase::finished) {
    state_.members.finish(trainer, context_.now);
    context_.info(text(context_.peers[peer].name(), " has finished"));
  } else {
    if (trainer == 0 && c.result) all_had_finished(state_.members);
    state_.members.leave(trainer, context_.now);
  }
  // The others wait for it. Where trainer 0 leaves they must hear it at once: a pserver that failed
  // before they did would send them back to work without it.
  announce();
  context_.out.send(peer, id, wire::Ack{});
  close_rounds();
}

void Job::announce() {
  for (PeerId p = 0; p < context_.peers.size(); ++p)
    if (context_.peers[p].is_member() && context_.peers[p].role == wire::Role::beat)
      context_.out.send(p, 0, beat_ack());
}

void Job::beat(PeerId from, uint64_t id, const wire::Progress& progress) {
  const Peer& peer = context_.peers[from];
  Members& members = state_.members;
  if (!members.holds(peer.trainer, peer.incarnation) ||
      members[peer.trainer].expired.covers(peer.incarnation))
    return context_.out.fail(
        from, id, Code::expired,
        text("trainer ", peer.trainer, " was lost, or another process has its id now"));
  Member& m = members[peer.trainer];
  state_.admissions.beat(m.holder, progress.echo, context_.now);
  m.progress = progress;
  m.progress.state = one_line(std::string_view(progress.state).substr(0, max_state_text));
  m.progress.error = one_line(std::string_view(progress.error).substr(0, max_error_text));
  if (!m.progress.error.empty() && m.holder.last_error != m.progress.error) {
    m.holder.last_error = m.progress.error;
    context_.error(text(peer.name(), ": ", m.holder.last_error));
  }
  context_.out.send(from, id, beat_ack());
}

wire::BeatAck Job::beat_ack() {
  return {.epoch = state_.epoch,
          .waiting = waiting_text(),
          .finished = state_.members.finished(),
          .failure = state_.failure,
          .saved = state_.members.saved(),
          .instance = context_.instance,
          .number = state_.admissions.number_answer(),
          .result = has_result(state_.members),
          .left = left_count(state_.members, context_.now)};
}

// ---- other events

void Job::gone(PeerId from) {
  const Peer& peer = context_.peers[from];
  if (state_.exchange) state_.exchange->abandon(from);
  values_.gone(from);
  if (!peer.greeted || !wire::takes_part(peer.role)) return;
  if (peer.role == wire::Role::trainer && state_.members.has(peer.trainer))
    state_.members[peer.trainer].traffic += peer.traffic;
  state_.members.closed(peer.trainer, peer.incarnation, context_.now);
}

void Job::tick() {
  for (const Loss& loss : state_.members.expire(context_.now)) lose(loss);
  totals_.log();
  // Trainer 0 went away after all had finished and before it saved: the others stay for its
  // return, but not for ever.
  const Members& members = state_.members;
  if (members.has(0)) {
    const Member& saver = members[0];
    const double away = saver.holder.away_for(members.leases(), context_.now);
    if (saver.state == MemberState::finished && members.finished() == members.all().size() &&
        away >= context_.options.peer_timeout)
      fail(text("gave up after ", duration_text(away),
                " (--peer_timeout): trainer 0 has finished, and went away before it saved"));
  }
  const std::string waiting = waiting_text();
  const double waited = watch_.wait(context_, waiting, state_.lowest_version());
  if (!state_.exchange) return;
  // One that is there may take its time.
  const auto awaited = present_wait(state_).trainers;
  const bool gone = std::any_of(awaited.begin(), awaited.end(), [&](uint32_t t) {
    return members[t].state != MemberState::joined;
  });
  if (waited > context_.options.peer_timeout && gone)
    fail(text("gave up after ", duration_text(waited), " (--peer_timeout): ", waiting));
  state_.steps_per_second = watch_.rate(context_, state_.lowest_version(), state_.steps_per_second);
}

// Its connections end, so that nothing of the past can arrive any more.
void Job::lose(const Loss& loss) {
  const std::string name = state_.members.name(loss.trainer);
  context_.error(name + " was lost");
  for (PeerId p = 0; p < context_.peers.size(); ++p) {
    const Peer& peer = context_.peers[p];
    if (!peer.is_member() || peer.trainer != loss.trainer) continue;
    if (state_.exchange) state_.exchange->abandon(p);
    context_.out.fail(p, 0, Code::expired,
                      text("trainer ", loss.trainer, " was lost: greet again"));
    context_.out.close(p, "its lease has ended");
  }
  if (context_.options.leases.policy == LossPolicy::fail) fail(text(name, " was lost ", loss.why));
  totals_.members_changed();
  close_rounds();
}

void Job::close_rounds() {
  if (!state_.exchange || !state_.failure.empty()) return;
  try {
    state_.exchange->members_changed();
  } catch (const Error& e) {  // only a program that cannot be run: nobody can go on
    fail(e.what());
  }
}

bool Job::done() const {
  if (state_.failure.empty()) return state_.members.all_done(context_.now);
  return std::none_of(context_.peers.begin(), context_.peers.end(),
                      [](const Peer& p) { return p.is_trainer(); });
}

// ---- waits

std::string Job::waiting_text() const {
  if (!state_.failure.empty()) return "";
  if (std::string first = values_.waiting_text(); !first.empty()) return first;
  auto [slowest, lacks] = present_wait(state_);
  if (lacks.empty()) return "";
  const uint64_t round = slowest ? slowest->version() : state_.lowest_version();
  const Time since = slowest ? state_.exchange->rounds().begun(*slowest) : context_.now;
  std::string words = state_.members.waiting_for(lacks[0], round, since, context_.now);
  if (lacks.size() == 1) return words;
  Names others;
  for (size_t i = 1; i < lacks.size(); ++i) others.push_back(std::to_string(lacks[i]));
  return words + text("; and for trainer", others.size() > 1 ? "s " : " ", listed(others));
}

}  // namespace paddle
