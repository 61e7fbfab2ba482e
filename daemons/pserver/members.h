// The trainers of a job, by name: who holds which id, since when, who is lost, and for whom a round
// waits. Pure logic: time is given, nothing is sent.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace paddle {

enum class LossPolicy { wait, drop, fail };
LossPolicy loss_policy_of(std::string_view word);  // throws Error(config)

enum class MemberState {
  absent,    // not there yet, or on its way: it has no part in a round
  joined,    // rounds wait for it
  lost,      // it was there and said no more
  finished,  // it has used all its data
  gone,      // it said goodbye
};
std::string name_of(MemberState state);

// A process that wants to be a trainer.
struct Applicant {
  uint32_t trainer = 0;
  bool takes_id = false;
  uint64_t incarnation = 0;
  std::string process;  // "host:pid"
};

struct MemberOptions {
  uint32_t trainers = 1;
  LossPolicy policy = LossPolicy::wait;
  double lease_seconds = 10, reconnect_seconds = 2;
};

struct Member {
  MemberState state = MemberState::absent;
  Time since{};              // of the state
  uint64_t incarnation = 0;  // of the holder, 0 where there is none
  std::string process;
  Time held_since{}, heard{}, closed{};
  int connections = 0;       // of this incarnation that are open
  bool was_joined = false;   // once, in this job
  uint64_t first_round = 0;  // joined: rounds from here on wait for it
  uint64_t expired = 0;      // the incarnation that lost its lease under `drop`
  std::string last_words;    // what it said before it failed
};

class Members {
 public:
  Members(const MemberOptions& options, Time now);

  struct Admission {
    enum class Verdict { admitted, refused, expired } verdict = Verdict::refused;
    uint32_t trainer = 0;
    std::string why;
  };
  // The id belongs to the process from here on, unless another one holds it that lives.
  Admission admit(const Applicant& applicant, Time now);
  // A connection of the holder opened (after admit(), or a heartbeat's) or closed.
  void opened(uint32_t trainer, Time now);
  void closed(uint32_t trainer, uint64_t incarnation, Time now);
  // Whether this incarnation holds the id.
  bool holds(uint32_t trainer, uint64_t incarnation) const;
  void heard(uint32_t trainer, Time now) { members_[trainer].heard = now; }
  void join(uint32_t trainer, uint64_t first_round, Time now);
  void finish(uint32_t trainer, Time now);
  void bye(uint32_t trainer, Time now);
  void restore_finished(uint32_t trainer, Time now) { set(trainer, MemberState::finished, now); }
  // Everybody has to join again (the job went back); what each holds stays.
  void begin_again(Time now);

  // Leases: who was lost just now.
  std::vector<uint32_t> sweep(Time now);
  // Whether a round of this number must have the trainer's gradient.
  bool required(uint32_t trainer, uint64_t round) const;
  bool all_joined() const;
  // Everybody said goodbye, or has finished and does not return; and somebody was there.
  bool all_done(Time now) const;
  uint32_t finished() const;
  // Trainer 0, who saves for all, said goodbye, or was dropped: nobody has to stay for it.
  bool saved() const;
  // Why the job ended, "" while it goes on.
  const std::string& failure() const { return failure_; }
  void fail(const std::string& why) {
    if (failure_.empty()) failure_ = why;
  }

  // "waiting for trainer 1 of 2: not joined yet (12 s)", or of a round: "its gradient of step 7".
  std::string waiting_for(uint32_t trainer, uint64_t round, Time since, Time now) const;
  // "trainer 1 (host:pid)"
  std::string name(uint32_t trainer) const;

  uint32_t count() const { return static_cast<uint32_t>(members_.size()); }
  Member& operator[](uint32_t trainer) { return members_[trainer]; }
  const Member& operator[](uint32_t trainer) const { return members_[trainer]; }
  const MemberOptions& options() const { return options_; }

 private:
  void set(uint32_t trainer, MemberState state, Time now);
  bool lives(const Member& m) const;
  bool away(const Member& m, Time now) const;  // for longer than it takes to return
  std::string holder_text(uint32_t trainer, Time now) const;
  void lose(uint32_t trainer, const std::string& why, Time now);

  MemberOptions options_;
  std::vector<Member> members_;
  std::string failure_;
};

}  // namespace paddle
