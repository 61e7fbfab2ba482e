// Who may be which trainer.
#include <algorithm>
#include <cmath>

#include "obs/progress.h"
#include "pserver/members.h"

namespace paddle {
namespace {

constexpr double rival_seconds = 10;  // one that does not ask for so long has given up
constexpr size_t max_rivals = 16;

std::string holder_text(const Member& m, Time now) {
  return text("trainer ", m.id, " is ", m.process, ", connected ",
              duration_text(seconds(m.held_since, now)), " ago");
}

std::string silence_text(const Member& m, double lease_seconds, Time now) {
  const double silent = std::max(0.0, seconds(m.heard, now));
  return text("trainer ", m.id, " is ", m.process, ", silent for ", duration_text(silent),
              "; if it stays silent, this trainer joins when its lease ends, in ",
              duration_text(std::ceil(std::max(1.0, lease_seconds - silent))));
}

bool has_work(const Member& m) {
  return m.state != MemberState::finished && m.state != MemberState::gone;
}

}  // namespace

// For a process that asks for any. The same process on another connection keeps what it was given.
// Ids that nobody ever had go first: a holder without a connection may be about to return.
std::optional<uint32_t> Members::free_id(const Incarnation& applicant, Time now) const {
  for (const Member& m : members_)
    if (applicant && m.incarnation.process == applicant.process) return m.id;
  for (const Member& m : members_)
    if (!m.incarnation) return m.id;
  for (const Member& m : members_)
    if (!alive(m, now) && has_work(m) &&
        (m.beats || m.connections == 0 || m.state == MemberState::lost))
      return m.id;
  return {};
}

bool Members::alive(const Member& m, Time now) const {
  return m.incarnation && m.connections > 0 && m.state != MemberState::lost &&
         seconds(m.heard, now) <= options_.lease_seconds;
}

Members::Rival& Members::rival(uint64_t process, Time now) {
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
Members::Admission Members::contest(const Member& m, const Applicant& g, Time now) {
  const Rival& r = rival(g.incarnation.process, now);
  if (proven(m, r))
    return {Admission::Verdict::taken, m.id,
            text("there is a trainer with this id already: ", holder_text(m, now),
                 "; give each trainer its own --trainer_id")};
  return {Admission::Verdict::held, m.id, silence_text(m, options_.lease_seconds, now),
          r.since == now};
}

Members::Admission Members::none_free(const Applicant& g, Time now) {
  const Rival& r = rival(g.incarnation.process, now);
  const Member* silent = nullptr;  // for the longest time
  for (const Member& m : members_)
    if (m.beats && has_work(m) && !proven(m, r) && (silent == nullptr || m.heard < silent->heard))
      silent = &m;
  const size_t count = members_.size();
  if (silent == nullptr)
    return {Admission::Verdict::refused, 0,
            text("all ", count, " trainer ids are taken (", holder_text(members_[0], now),
                 "); start ", count, " trainers, or more with a larger --num_gradient_servers")};
  return {Admission::Verdict::held, 0,
          text("all ", count, " trainer ids are taken; ",
               silence_text(*silent, options_.lease_seconds, now)),
          r.since == now};
}

Members::Admission Members::admit(const Applicant& g, Time now) {
  using Verdict = Admission::Verdict;
  const size_t count = members_.size();
  const std::optional<uint32_t> id = g.takes_id ? free_id(g.incarnation, now) : g.trainer;
  if (!id) return none_free(g, now);
  if (!has(*id))
    return {Verdict::refused, *id,
            text("trainer_id ", *id, " is not one of the ", count, " of this job (0 to ", count - 1,
                 "); see --trainer_id and --num_gradient_servers")};
  Member& m = (*this)[*id];
  const bool same_process = m.incarnation.process == g.incarnation.process;
  if (!same_process && alive(m, now)) return contest(m, g, now);
  const bool older = m.incarnation.covers(g.incarnation) && m.incarnation != g.incarnation;
  if (older || m.expired.covers(g.incarnation))
    return {Verdict::expired, *id,
            text("trainer ", *id, " was lost and the job went on without it: it must join again")};
  if (m.incarnation != g.incarnation) {
    m.incarnation = g.incarnation;
    m.connections = 0;
    if (m.state == MemberState::joined) m.set(MemberState::absent, now);
  }
  if (!same_process) {
    m.held_since = now;
    m.beats = false;
    m.echoed = 0;
    m.last_error.clear();
  }
  m.process = g.process;
  m.heard = now;
  std::erase_if(rivals_, [&](const Rival& r) { return r.process == g.incarnation.process; });
  return {Verdict::admitted, *id, ""};
}

}  // namespace paddle
