#include "pserver/members.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/log.h"
#include "obs/progress.h"

namespace paddle {
namespace {

std::string wait_text(Time from, Time to) {
  const double s = seconds(from, to);
  return s < 1 ? "under 1 s" : duration_text(std::floor(s));
}

}  // namespace

LossPolicy loss_policy_of(std::string_view word) {
  if (word == "wait") return LossPolicy::wait;
  if (word == "drop") return LossPolicy::drop;
  require(word == "fail", Error::Kind::config, "on_trainer_loss must be wait, drop or fail, not '",
          word, "'");
  return LossPolicy::fail;
}

std::string name_of(MemberState state) {
  switch (state) {
    case MemberState::absent: return "absent";
    case MemberState::joined: return "joined";
    case MemberState::lost: return "lost";
    case MemberState::finished: return "finished";
    case MemberState::gone: return "gone";
  }
  return "";
}

Members::Members(const MemberOptions& options, Time now)
    : options_(options), members_(options.trainers) {
  for (Member& m : members_) m.since = m.heard = m.closed = now;
}

void Members::set(uint32_t trainer, MemberState state, Time now) {
  Member& m = members_[trainer];
  if (m.state != state) m.since = now;
  m.state = state;
}

bool Members::lives(const Member& m) const {
  return m.incarnation != 0 && m.connections > 0 && m.state != MemberState::lost;
}

std::string Members::name(uint32_t trainer) const {
  const std::string& process = members_[trainer].process;
  return text("trainer ", trainer, process.empty() ? "" : " (" + process + ")");
}

std::string Members::holder_text(uint32_t trainer, Time now) const {
  const Member& m = members_[trainer];
  return text("trainer ", trainer, " is ", m.process, ", connected ",
              duration_text(seconds(m.held_since, now)), " ago");
}

Members::Admission Members::admit(const Applicant& g, Time now) {
  using Verdict = Admission::Verdict;
  uint32_t id = g.trainer;
  if (g.takes_id) {
    // The same process on another connection keeps what it was given.
    for (id = 0; id < count() && !holds(id, g.incarnation); ++id) {
    }
    // Those that nobody ever had go first: a holder without a connection may be about to return.
    if (id == count())
      for (id = 0; id < count() && members_[id].incarnation != 0; ++id) {
      }
    if (id == count())
      for (id = 0; id < count(); ++id) {
        const MemberState s = members_[id].state;
        if (!lives(members_[id]) && s != MemberState::finished && s != MemberState::gone) break;
      }
    if (id == count())
      return {Verdict::refused, 0,
              text("all ", count(), " trainer ids are taken (", holder_text(0, now), "); start ",
                   count(), " trainers, or more with a larger --num_gradient_servers")};
  }
  if (id >= count())
    return {Verdict::refused, id,
            text("trainer_id ", id, " is not one of the ", count(), " of this job (0 to ",
                 count() - 1, "); see --trainer_id and --num_gradient_servers")};
  Member& m = members_[id];
  if (m.incarnation != g.incarnation && lives(m))
    return {Verdict::refused, id,
            text("there is a trainer with this id already: ", holder_text(id, now),
                 "; give each trainer its own --trainer_id")};
  if (m.expired == g.incarnation)
    return {Verdict::expired, id,
            text("trainer ", id, " was lost and the job went on without it: it must join again")};
  if (m.incarnation != g.incarnation) {
    m.incarnation = g.incarnation;
    m.held_since = now;
    m.connections = 0;
    m.last_words.clear();
    if (m.state == MemberState::joined) set(id, MemberState::absent, now);
  }
  m.process = g.process;
  m.heard = now;
  return {Verdict::admitted, id, ""};
}

bool Members::holds(uint32_t trainer, uint64_t incarnation) const {
  return trainer < count() && incarnation != 0 && members_[trainer].incarnation == incarnation;
}

void Members::opened(uint32_t trainer, Time now) {
  ++members_[trainer].connections;
  members_[trainer].heard = now;
}

void Members::closed(uint32_t trainer, uint64_t incarnation, Time now) {
  if (!holds(trainer, incarnation)) return;
  Member& m = members_[trainer];
  m.connections = std::max(0, m.connections - 1);
  m.closed = now;
}

void Members::join(uint32_t trainer, uint64_t first_round, Time now) {
  set(trainer, MemberState::joined, now);
  members_[trainer].first_round = first_round;
  members_[trainer].was_joined = true;
  members_[trainer].heard = now;
}

void Members::finish(uint32_t trainer, Time now) { set(trainer, MemberState::finished, now); }
void Members::bye(uint32_t trainer, Time now) { set(trainer, MemberState::gone, now); }

void Members::begin_again(Time now) {
  for (uint32_t t = 0; t < count(); ++t) {
    set(t, MemberState::absent, now);
    members_[t].first_round = members_[t].expired = 0;
    members_[t].was_joined = false;
    members_[t].heard = now;
  }
}

void Members::lose(uint32_t trainer, const std::string& why, Time now) {
  Member& m = members_[trainer];
  set(trainer, MemberState::lost, now);
  if (options_.policy == LossPolicy::drop) m.expired = m.incarnation;
  const std::string words = m.last_words.empty() ? "" : "; its last words: " + m.last_words;
  if (options_.policy == LossPolicy::fail)
    fail(text(name(trainer), " was lost (", why, ") and --on_trainer_loss=fail ends the job",
              words));
  const char* next = options_.policy == LossPolicy::wait   ? "rounds wait for its return"
                     : options_.policy == LossPolicy::drop ? "the others go on without it"
                                                           : "the job ends";
  log_warn(text(name(trainer), " is lost: ", why, "; ", next, words));
}

std::vector<uint32_t> Members::sweep(Time now) {
  std::vector<uint32_t> lost;
  for (uint32_t t = 0; t < count(); ++t) {
    const Member& m = members_[t];
    const bool restarting = m.state == MemberState::absent && m.was_joined;
    if (m.state != MemberState::joined && !restarting) continue;
    const double silent = seconds(m.heard, now);
    std::string why;
    if (silent > options_.lease_seconds && !restarting)
      why = text("nothing heard for ", duration_text(silent));
    else if (away(m, now))
      why = text("its connections closed ", duration_text(seconds(m.closed, now)), " ago");
    if (why.empty()) continue;
    lose(t, why, now);
    lost.push_back(t);
  }
  return lost;
}

bool Members::required(uint32_t trainer, uint64_t round) const {
  const Member& m = members_[trainer];
  switch (m.state) {
    case MemberState::absent: return options_.policy != LossPolicy::drop || m.expired == 0;
    case MemberState::joined: return options_.policy != LossPolicy::drop || round >= m.first_round;
    case MemberState::lost: return options_.policy != LossPolicy::drop;
    case MemberState::finished:
    case MemberState::gone: return false;
  }
  return false;
}

bool Members::all_joined() const {
  return std::none_of(members_.begin(), members_.end(),
                      [](const Member& m) { return m.state == MemberState::absent; });
}

bool Members::away(const Member& m, Time now) const {
  return m.connections == 0 && seconds(m.closed, now) > options_.reconnect_seconds;
}

bool Members::all_done(Time now) const {
  bool any = false;
  for (const Member& m : members_) {
    const bool done = m.state == MemberState::gone ||
                      (m.state == MemberState::finished && away(m, now)) ||
                      (m.state == MemberState::lost && options_.policy == LossPolicy::drop);
    if (!done) return false;
    any = any || m.state != MemberState::lost;
  }
  return any;
}

uint32_t Members::finished() const {
  const bool drops = options_.policy == LossPolicy::drop;
  return static_cast<uint32_t>(
      std::count_if(members_.begin(), members_.end(), [&](const Member& m) {
        return m.state == MemberState::finished || m.state == MemberState::gone ||
               (m.state == MemberState::lost && drops);  // nobody waits for it
      }));
}

bool Members::saved() const {
  const MemberState s = members_[0].state;
  return s == MemberState::gone || (s == MemberState::lost && options_.policy == LossPolicy::drop);
}

std::string Members::waiting_for(uint32_t trainer, uint64_t round, Time since, Time now) const {
  const Member& m = members_[trainer];
  const std::string who = text("waiting for trainer ", trainer, " of ", count(), ": ");
  switch (m.state) {
    case MemberState::absent:
      return text(who, m.connections > 0 ? "connected, not joined yet (" : "not joined yet (",
                  wait_text(m.since, now), ")");
    case MemberState::lost:
      return text(who, "lost, ", m.process,
                  m.last_words.empty() ? "" : text(" failed (", m.last_words, ") and"),
                  " said nothing for ", wait_text(m.heard, now));
    default:
      return text(who, "its gradient of step ", round, ", ", m.process, " (", wait_text(since, now),
                  ")");
  }
}

}  // namespace paddle
