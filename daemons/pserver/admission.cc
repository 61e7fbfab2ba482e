#include "pserver/admission.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "obs/progress.h"

namespace paddle {
namespace {

constexpr double rival_seconds = 10;  // one that does not ask for so long has given up
constexpr size_t max_rivals = 16;

std::string holder_text(const Member& m, Time now) {
  return text("trainer ", m.id, " is ", m.holder.process, ", connected ",
              duration_text(seconds(m.holder.since, now)), " ago");
}

std::string silence_text(const Member& m, double lease_seconds, Time now) {
  const double silent = std::max(0.0, seconds(m.holder.heard, now));
  return text("trainer ", m.id, " is ", m.holder.process, ", silent for ", duration_text(silent),
              "; if it stays silent, this trainer joins when its lease ends, in ",
              duration_text(std::ceil(std::max(1.0, lease_seconds - silent))));
}

bool has_work(const Member& m) {
  return m.state != MemberState::finished && m.state != MemberState::gone;
}

bool alive(const Member& m, const LeaseOptions& leases, Time now) {  // as far as is known
  return m.holder.incarnation && m.holder.connections > 0 && m.state != MemberState::lost &&
         !m.holder.silent(leases, now);
}

// For a process that asks for any. The same process on another connection keeps what it was given.
// Ids that nobody ever had go first: a holder without a connection may be about to return.
std::optional<uint32_t> free_id(const Members& members, const Incarnation& applicant, Time now) {
  for (const Member& m : members.all())
    if (applicant && m.holder.incarnation.process == applicant.process) return m.id;
  for (const Member& m : members.all())
    if (!m.holder.incarnation) return m.id;
  for (const Member& m : members.all())
    if (!alive(m, members.leases(), now) && has_work(m) &&
        (m.holder.beats || m.holder.connections == 0 || m.state == MemberState::lost))
      return m.id;
  return {};
}

}  // namespace

Admissions::Rival& Admissions::rival(uint64_t process, Time now) {
  std::erase_if(rivals_, [&](const Rival& r) { return seconds(r.asked, now) > rival_seconds; });
  const auto at = std::find_if(rivals_.begin(), rivals_.end(),
                               [&](const Rival& r) { return r.process == process; });
  if (at != rivals_.end()) {
    at->asked = now;
    return *at;
  }
  if (rivals_.size() == max_rivals) rivals_.erase(rivals_.begin());
  return rivals_.emplace_back(Rival{process, now, now, answers_});
}

// Nothing tells at once whether the holder still runs: where its machine vanished, its connections
// stay open, and what a dead process has sent may arrive late. So the applicant comes again until
// the holder has answered something that was sent to it meanwhile, or its lease has ended.
Admission Admissions::contest(const Members& members, const Member& m, const Applicant& g,
                              Time now) {
  const Rival& r = rival(g.incarnation.process, now);
  if (proven(m, r))
    return {Admission::Verdict::taken, m.id,
            text("there is a trainer with this id already: ", holder_text(m, now),
                 "; give each trainer its own --trainer_id")};
  return {Admission::Verdict::held, m.id, silence_text(m, members.leases().lease_seconds, now),
          r.since == now};
}

Admission Admissions::none_free(const Members& members, const Applicant& g, Time now) {
  const Rival& r = rival(g.incarnation.process, now);
  const Member* silent = nullptr;  // for the longest time
  for (const Member& m : members.all())
    if (m.holder.beats && has_work(m) && !proven(m, r) &&
        (silent == nullptr || m.holder.heard < silent->holder.heard))
      silent = &m;
  const size_t count = members.all().size();
  if (silent == nullptr)
    return {Admission::Verdict::refused, 0,
            text("all ", count, " trainer ids are taken (", holder_text(members.all()[0], now),
                 "); start ", count, " trainers, or more with a larger --num_gradient_servers")};
  return {Admission::Verdict::held, 0,
          text("all ", count, " trainer ids are taken; ",
               silence_text(*silent, members.leases().lease_seconds, now)),
          r.since == now};
}

Admission Admissions::admit(Members& members, const Applicant& g, Time now) {
  using Verdict = Admission::Verdict;
  const size_t count = members.all().size();
  const std::optional<uint32_t> id = g.takes_id ? free_id(members, g.incarnation, now) : g.trainer;
  if (!id) return none_free(members, g, now);
  if (!members.has(*id))
    return {Verdict::refused, *id,
            text("trainer_id ", *id, " is not one of the ", count, " of this job (0 to ", count - 1,
                 "); see --trainer_id and --num_gradient_servers")};
  Member& m = members[*id];
  const bool same_process = m.holder.incarnation.process == g.incarnation.process;
  if (!same_process && alive(m, members.leases(), now)) return contest(members, m, g, now);
  if (!same_process && m.state == MemberState::gone && has_result(members))
    return {Verdict::held, *id,
            text("all trainers of this job have finished, and trainer 0 has saved: waiting for the "
                 "others to leave"),
            rival(g.incarnation.process, now).since == now};
  const bool older =
      m.holder.incarnation.covers(g.incarnation) && m.holder.incarnation != g.incarnation;
  if (older || m.expired.covers(g.incarnation))
    return {Verdict::expired, *id,
            text("trainer ", *id, " was lost and the job went on without it: it must join again")};
  if (m.holder.incarnation != g.incarnation) {
    m.holder.incarnation = g.incarnation;
    m.holder.connections = 0;
    if (m.state == MemberState::joined) m.set(MemberState::absent, now);
  }
  if (!same_process) {
    m.holder.since = now;
    m.holder.beats = false;
    m.holder.echoed = 0;
    m.holder.last_error.clear();
  }
  m.holder.process = g.process;
  m.holder.heard = now;
  std::erase_if(rivals_, [&](const Rival& r) { return r.process == g.incarnation.process; });
  return {Verdict::admitted, *id, ""};
}

void Admissions::beat(Holder& holder, uint64_t echo, Time now) const {
  holder.beats = true;
  holder.heard = now;
  if (echo <= answers_) holder.echoed = std::max(holder.echoed, echo);
}

}  // namespace paddle
