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

// The job must not end before trainer 0 has saved; if it does not return, the job fails. Where
// there is a result, nobody has work any more; one that this process has not seen yet may be on its
// way.
bool done(const Member& m, const LeaseOptions& leases, bool result, Time now) {
  const double away = m.holder.away_for(leases, now);
  const bool returns =
      away <= leases.reconnect_seconds || (!m.holder.incarnation && away <= leases.lease_seconds);
  switch (m.state) {
    case MemberState::gone: return true;
    case MemberState::finished: return m.id != 0 && !returns;
    case MemberState::lost: return leases.policy == LossPolicy::drop || (result && !returns);
    default: return result && !returns;
  }
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

Members::Members(const MemberOptions& options, Time now) : leases_(options.leases) {
  for (uint32_t t = 0; t < options.trainers; ++t) add(t, now);
}

void Members::add(uint32_t trainer, Time now) {
  Member m{.id = trainer};
  m.since = m.holder.heard = m.holder.closed = now;
  if (!members_.empty()) m.steps.assign(members_[0].steps.size(), 0);
  const auto at = std::find_if(members_.begin(), members_.end(),
                               [&](const Member& o) { return o.id > trainer; });
  members_.insert(at, std::move(m));
}

void Members::remove(uint32_t trainer) {
  std::erase_if(members_, [&](const Member& m) { return m.id == trainer; });
}

std::string Members::name(uint32_t trainer) const {
  const std::string& process = (*this)[trainer].holder.process;
  return text("trainer ", trainer, process.empty() ? "" : " (" + process + ")");
}

bool Members::holds(uint32_t trainer, const Incarnation& incarnation) const {
  return has(trainer) && incarnation && (*this)[trainer].holder.incarnation == incarnation;
}

void Members::closed(uint32_t trainer, const Incarnation& incarnation, Time now) {
  if (holds(trainer, incarnation)) (*this)[trainer].holder.disconnected(now);
}

void Members::join(uint32_t trainer, uint64_t first_round, Time now) {
  Member& m = (*this)[trainer];
  m.set(MemberState::joined, now);
  m.first_round = first_round;
  m.was_joined = true;
  ++m.joins;
  m.holder.heard = now;
}

void Members::finish(uint32_t trainer, Time now) {
  Member& m = (*this)[trainer];
  m.set(MemberState::finished, now);
  m.had_finished = true;
}

void Members::leave(uint32_t trainer, Time now) { (*this)[trainer].set(MemberState::gone, now); }

void Members::begin_again(size_t slices, Time now) {
  for (Member& m : members_) {
    m.set(MemberState::absent, now);
    m.first_round = 0;
    m.expired = {};
    m.was_joined = m.had_finished = false;
    m.resumed_at.reset();
    m.last_push.reset();
    m.steps.assign(slices, 0);
  }
}

void Members::stood_still(Time::duration time) {
  for (Member& m : members_) {
    m.holder.heard += time;
    m.holder.closed += time;
  }
}

std::vector<Loss> Members::expire(Time now) {
  std::vector<Loss> lost;
  for (Member& m : members_) {
    const bool restarting = m.state == MemberState::absent && m.was_joined;
    if (m.state != MemberState::joined && !restarting) continue;
    std::string why;
    if (m.holder.silent(leases_, now) && !restarting)
      why = text("nothing heard for ", duration_text(seconds(m.holder.heard, now)));
    else if (m.holder.away(leases_, now))
      why = text("its connections closed ", duration_text(seconds(m.holder.closed, now)), " ago");
    if (why.empty()) continue;
    m.set(MemberState::lost, now);
    if (leases_.policy == LossPolicy::drop) m.expired = m.holder.incarnation;
    const char* next = leases_.policy == LossPolicy::wait   ? "rounds wait for its return"
                       : leases_.policy == LossPolicy::drop ? "the others go on without it"
                                                            : "the job ends";
    const std::string error =
        m.holder.last_error.empty() ? "" : "; its last error: " + m.holder.last_error;
    log_warn(text(name(m.id), " is lost: ", why, "; ", next, error));
    lost.push_back({m.id, text("(", why, ") and --on_trainer_loss=fail ends the job", error)});
  }
  return lost;
}

bool Members::required(const Member& m, uint64_t round) const {
  switch (m.state) {
    case MemberState::absent: return leases_.policy != LossPolicy::drop || !m.expired;
    case MemberState::joined: return leases_.policy != LossPolicy::drop || round >= m.first_round;
    case MemberState::lost: return leases_.policy != LossPolicy::drop;
    case MemberState::finished:
    case MemberState::gone: return false;
  }
  return false;
}

bool Members::all_done(Time now) const {
  const bool result = has_result(*this);
  bool any = false;
  for (const Member& m : members_) {
    if (!done(m, leases_, result, now)) return false;
    any = any || m.state != MemberState::lost;
  }
  return any;
}

uint32_t Members::finished() const {
  const bool drops = leases_.policy == LossPolicy::drop;
  return static_cast<uint32_t>(
      std::count_if(members_.begin(), members_.end(), [&](const Member& m) {
        return m.state == MemberState::finished || m.state == MemberState::gone ||
               (m.state == MemberState::lost && drops);  // nobody waits for it
      }));
}

bool Members::saved() const {
  if (members_.empty() || members_[0].id != 0) return true;
  const MemberState s = members_[0].state;
  return s == MemberState::gone || (s == MemberState::lost && leases_.policy == LossPolicy::drop);
}

bool has_result(const Members& members) {
  const bool drops = members.leases().policy == LossPolicy::drop;
  return members.saved() &&
         std::all_of(members.all().begin(), members.all().end(), [&](const Member& m) {
           return m.had_finished || m.state == MemberState::gone ||
                  (m.state == MemberState::lost && drops);
         });
}

void all_had_finished(Members& members) {
  for (Member& m : members.all()) m.had_finished = true;
}

uint32_t left_count(const Members& members, Time now) {
  const bool result = has_result(members);
  return static_cast<uint32_t>(
      std::count_if(members.all().begin(), members.all().end(),
                    [&](const Member& m) { return done(m, members.leases(), result, now); }));
}

std::string Members::waiting_for(uint32_t trainer, uint64_t round, Time since, Time now) const {
  const Member& m = (*this)[trainer];
  const std::string who = text("waiting for trainer ", trainer, " of ", members_.size(), ": ");
  switch (m.state) {
    case MemberState::absent:
      return text(who,
                  m.holder.connections > 0 ? "connected, not joined yet (" : "not joined yet (",
                  wait_text(m.since, now), ")");
    case MemberState::lost:
      return text(
          who, "lost, ", m.holder.process,
          m.holder.last_error.empty() ? "" : text(" failed (", m.holder.last_error, ") and"),
          " said nothing for ", wait_text(m.holder.heard, now));
    default:
      return text(who, "its gradient of step ", round, ", ", m.holder.process, " (",
                  wait_text(since, now), ")");
  }
}

}  // namespace paddle
