// The trainers of a job, by name: who holds which id, since when, who is lost, and for whom a round
// waits. Pure logic: time is given, nothing is sent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pserver/peers.h"

namespace paddle {

enum class LossPolicy { wait, drop, fail };
LossPolicy loss_policy_of(std::string_view word);  // throws Error(config)

enum class MemberState {
  absent,    // not there yet, or on its way: it has no part in a round
  joined,    // rounds wait for it
  lost,      // it was there and said no more
  finished,  // it has used all its data
  gone,      // it has left the job
};
std::string name_of(MemberState state);

// A process that wants to be a trainer.
struct Applicant {
  uint32_t trainer = 0;
  bool takes_id = false;
  Incarnation incarnation;
  std::string process;  // "host:pid"
};

struct MemberOptions {
  uint32_t trainers = 1;
  LossPolicy policy = LossPolicy::wait;
  double lease_seconds = 10, reconnect_seconds = 2;
};

// Async: how old the gradients of a trainer were, in versions, and how many were not applied.
struct Staleness {
  uint64_t max = 0, sum = 0, count = 0, dropped = 0, not_finite = 0;
};

struct Member {
  uint32_t id = 0;
  MemberState state = MemberState::absent;
  Time since{};             // of the state
  Incarnation incarnation;  // of the holder
  std::string process;
  Time held_since{}, heard{}, closed{};
  int connections = 0;       // of this incarnation that are open
  bool beats = false;        // this process has sent a heartbeat: its silence means something
  uint64_t echoed = 0;       // the number of the last beat's answer that it has seen
  bool was_joined = false;   // once, in this job
  uint64_t first_round = 0;  // joined: rounds from here on wait for it
  Incarnation expired;       // the newest that lost its lease under `drop`
  std::string last_error;    // what it reported before it failed
  std::optional<wire::LastPush> last_push;
  wire::Progress progress;  // as its last heartbeat said
  Staleness staleness;
  Traffic traffic;  // of its data connections that have ended
  // By place of the slice: steps of this trainer that are in the slice or, in sync, in the sum of
  // its open round.
  std::vector<uint64_t> steps;

  void set(MemberState next, Time now) {
    if (state != next) since = now;
    state = next;
  }
  // Sync: the gradient for the round that makes `version` + 1 is there.
  bool contributed(size_t place, uint64_t version) const { return steps[place] > version; }
};

// A trainer whose lease has just ended.
struct Loss {
  uint32_t trainer = 0;
  std::string why;  // for the sentence that ends the job where the policy says so
};

class Members {
 public:
  // Trainers 0 to trainers - 1.
  Members(const MemberOptions& options, Time now);
  void add(uint32_t trainer, Time now);
  void remove(uint32_t trainer);

  struct Admission {
    enum class Verdict {
      admitted,
      refused,
      expired,  // it must come as a newer renewal
      held,     // another process has the id, and may be gone: come again
      taken,    // another process has the id, and has lived after this one came first
    } verdict = Verdict::refused;
    uint32_t trainer = 0;
    std::string why;
    bool first = true;  // held: the applicant was not told before
  };
  // The id belongs to the process from here on, unless another one holds it that may be alive.
  Admission admit(const Applicant& applicant, Time now);
  // A connection of the holder opened (after admit(), or a heartbeat's) or closed.
  void opened(uint32_t trainer, Time now);
  void closed(uint32_t trainer, const Incarnation& incarnation, Time now);
  // Whether this incarnation holds the id.
  bool holds(uint32_t trainer, const Incarnation& incarnation) const;
  void heard(uint32_t trainer, Time now) { (*this)[trainer].heard = now; }
  // A heartbeat of the holder, which has seen the answer of this number.
  void beat(uint32_t trainer, uint64_t echo, Time now);
  // For the next answer to a heartbeat.
  uint64_t number_answer() { return ++answers_; }
  void join(uint32_t trainer, uint64_t first_round, Time now);
  void finish(uint32_t trainer, Time now);
  void leave(uint32_t trainer, Time now);
  // Everybody has to join again (the job went back); what each holds stays. There are this many
  // slices, and no gradient of anybody is in them.
  void begin_again(size_t slices, Time now);

  // This process stood still for so long: that nothing was heard meanwhile says nothing.
  void stood_still(Time::duration time);
  // Leases: whose ended just now.
  std::vector<Loss> expire(Time now);
  // Whether a round of this number must have the trainer's gradient.
  bool required(const Member& m, uint64_t round) const;
  // For how long the process has been away: without a connection, or silent on those that seem to
  // be open. 0 while it is there.
  double away_for(const Member& m, Time now) const;
  // Everybody has left, or has finished and does not return; and somebody was there.
  bool all_done(Time now) const;
  uint32_t finished() const;
  // Trainer 0, which saves for all, has left or was dropped: nobody has to stay for it.
  bool saved() const;

  // "waiting for trainer 1 of 2: not joined yet (12 s)", or of a round: "its gradient of step 7".
  std::string waiting_for(uint32_t trainer, uint64_t round, Time since, Time now) const;
  // "trainer 1 (host:pid)"
  std::string name(uint32_t trainer) const;

  // In the order of their ids.
  std::vector<Member>& all() { return members_; }
  const std::vector<Member>& all() const { return members_; }
  bool has(uint32_t trainer) const { return find(trainer) < members_.size(); }
  Member& operator[](uint32_t trainer) { return members_[find(trainer)]; }
  const Member& operator[](uint32_t trainer) const { return members_[find(trainer)]; }

 private:
  size_t find(uint32_t trainer) const {  // members_.size() where there is none
    if (trainer < members_.size() && members_[trainer].id == trainer) return trainer;
    size_t i = 0;
    while (i < members_.size() && members_[i].id != trainer) ++i;
    return i;
  }
  bool away(const Member& m, Time now) const;   // for longer than it takes to return
  bool done(const Member& m, Time now) const;   // with the job
  bool alive(const Member& m, Time now) const;  // as far as is known
  std::optional<uint32_t> free_id(const Incarnation& applicant, Time now) const;
  Admission contest(const Member& holder, const Applicant& applicant, Time now);
  Admission none_free(const Applicant& applicant, Time now);

  // A process that wants an id which another one has.
  struct Rival {
    uint64_t process = 0;
    Time since{}, asked{};
    uint64_t answers = 0;  // to heartbeats when it came first
  };
  static bool proven(const Member& holder, const Rival& r) { return holder.echoed > r.answers; }
  Rival& rival(uint64_t process, Time now);

  MemberOptions options_;
  std::vector<Member> members_;
  std::vector<Rival> rivals_;
  uint64_t answers_ = 0;  // to heartbeats, so far
};

}  // namespace paddle
