// The trainers of a job, by name: what each of them does, who is lost, and for whom a round waits.
// Pure logic: time is given, nothing is sent. admission.h says who may be which of them.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pserver/holder.h"

namespace paddle {

enum class MemberState {
  absent,    // not there yet, or on its way: it has no part in a round
  joined,    // rounds wait for it
  lost,      // it had joined, and its lease has ended
  finished,  // it has used all its data
  gone,      // it has left the job
};
std::string name_of(MemberState state);

struct MemberOptions {
  uint32_t trainers = 1;
  LeaseOptions leases;
};

// What became of the gradients of a trainer; async: how old they were, in versions.
struct Staleness {
  uint64_t max = 0, sum = 0, count = 0, dropped = 0, not_finite = 0, applied = 0;
  // How many lagged 0 versions, 1, 2 to 3, 4 to 7, …; the last counts all beyond.
  std::array<uint64_t, 12> by_lag{};

  void lagged(uint64_t versions) {
    max = std::max(max, versions);
    sum += versions;
    ++count;
    ++by_lag[std::min<size_t>(std::bit_width(versions), by_lag.size() - 1)];
  }
};

struct Member {
  uint32_t id = 0;
  MemberState state = MemberState::absent;
  Time since{};  // of the state
  Holder holder;
  bool was_joined = false;    // once, in this job
  uint64_t joins = 0;         // how often, on this shard
  bool had_finished = false;  // once, whatever it has done since
  uint64_t first_round = 0;   // joined: rounds from here on wait for it
  Incarnation expired;        // the newest that lost its lease under `drop`
  std::optional<wire::LastPush> last_push;
  wire::Progress progress;  // as its last heartbeat said
  Staleness staleness;
  Traffic traffic;  // of its data connections that have ended
  // By place of the slice: steps of this trainer that are in the slice or, in sync, in the sum of
  // its open round. wire::unknown_steps where the values are some trainer's, from the middle of its
  // work, until the first push of this one.
  std::vector<uint64_t> steps;
  std::optional<uint64_t> resumed_at;  // the step with which it joined first

  void set(MemberState next, Time now) {
    if (state != next) since = now;
    state = next;
  }
  // Steps that are not taken again; unknown_steps where nobody has said.
  uint64_t taken(size_t place) const {
    return steps[place] == wire::unknown_steps ? resumed_at.value_or(wire::unknown_steps)
                                               : steps[place];
  }
  bool forgotten() const {  // how far it was
    return std::count(steps.begin(), steps.end(), wire::unknown_steps) > 0;
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

  // In the order of their ids.
  std::vector<Member>& all() { return members_; }
  const std::vector<Member>& all() const { return members_; }
  bool has(uint32_t trainer) const { return find(trainer) < members_.size(); }
  Member& operator[](uint32_t trainer) { return members_[find(trainer)]; }
  const Member& operator[](uint32_t trainer) const { return members_[find(trainer)]; }
  const LeaseOptions& leases() const { return leases_; }

  // Whether this incarnation holds the id.
  bool holds(uint32_t trainer, const Incarnation& incarnation) const;
  // A connection of this incarnation ended.
  void closed(uint32_t trainer, const Incarnation& incarnation, Time now);
  void join(uint32_t trainer, uint64_t first_round, Time now);
  void finish(uint32_t trainer, Time now);
  void leave(uint32_t trainer, Time now);
  // Everybody has to join again (the job went back); what each holds stays. There are this many
  // slices, and no gradient of anybody is in them.
  void begin_again(size_t slices, Time now);

  // This process was stopped for so long: the silence of the trainers in that time does not count.
  void stood_still(Time::duration time);
  // Leases: whose ended just now.
  std::vector<Loss> expire(Time now);
  // Whether a round of this number must have the trainer's gradient.
  bool required(const Member& m, uint64_t round) const;
  // Everybody has left, or has finished and does not return; and somebody was there.
  bool all_done(Time now) const;
  uint32_t finished() const;
  // Trainer 0, which saves the model, has left or was dropped: the others need not wait for it.
  bool saved() const;

  // "waiting for trainer 1 of 2: not joined yet (12 s)", or of a round: "its gradient of step 7".
  std::string waiting_for(uint32_t trainer, uint64_t round, Time since, Time now) const;
  // "trainer 1 (host:pid)"
  std::string name(uint32_t trainer) const;

 private:
  size_t find(uint32_t trainer) const {  // members_.size() where there is none
    if (trainer < members_.size() && members_[trainer].id == trainer) return trainer;
    size_t i = 0;
    while (i < members_.size() && members_[i].id != trainer) ++i;
    return i;
  }

  LeaseOptions leases_;
  std::vector<Member> members_;
};

// Everybody had finished or was dropped, and trainer 0, which saves after that, has left: the job
// has its result, also where somebody has joined again since.
bool has_result(const Members& members);
// Trainer 0 says so: this shard may have lost who had finished.
void all_had_finished(Members& members);
// How many have left, or do not return.
uint32_t left_count(const Members& members, Time now);

}  // namespace paddle
