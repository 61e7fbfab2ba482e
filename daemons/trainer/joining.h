// Joining a job, for the first time and after anything broke: an id, greetings, what to do about
// the shards' answers (ps_join.h), first values, and the way into the rounds. A state machine
// without I/O: it is told what came and what time it is, and says what to do; the caller does it
// and comes back when something happened, or at wake_at().
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "trainer/join_identity.h"
#include "trainer/shard_answers.h"
#include "wire/messages.h"

namespace paddle {

struct JoinAction {
  enum class Kind {
    greet,         // connect to `shard`, dropping a connection that is there, and say hello()
    hang_up,       // drop the connection to `shard`
    beat,          // heartbeats begin, or begin anew, with hello()
    stop_beat,     // none until the next `beat`
    first_values,  // put the first values of the job into the scope
    configure,     // give `shard` its first values; Ack is an event
    rollback,      // send Rollback to `shard`; Ack is an event
    join,          // send Join to `shard`; Ack is an event
    exchange,      // begin the exchange at decision().step; values_arrived() is the event
    warn,          // log `text`
  };
  Kind kind = Kind::greet;
  size_t shard = 0;
  std::string text;
};
// Void as soon as shards are greeted again.
bool belongs_to_decision(JoinAction::Kind kind);

struct JoinSetup {
  std::vector<std::string> shards;  // endpoints, for sentences
  std::vector<bool> holds;          // whether the cut gives a shard slices
  size_t slices = 0;                // in all
  double peer_timeout = 600;        // seconds
};

class Joining {
 public:
  enum class Phase {
    take_id,  // the first shard assigns an id
    greet,    // the shards are greeted
    work,     // they were asked for something and acknowledge it
    values,   // the exchange has begun
    pause,    // until wake_at()
    done,
  };

  Joining(JoinSetup setup, wire::Hello hello);

  // Begins to join. `init` is the digest of the first values, `first_step` their version;
  // `finished`: this process has used all its data.
  void start(const std::string& init, uint64_t first_step, bool finished, Time now);

  // ---- events; they throw Error where this trainer has to give up
  void welcome(size_t shard, wire::Welcome welcome, Time now);
  void acked(size_t shard, Time now);
  void values_arrived(Time now);
  void failed(size_t shard, const wire::Failure& failure, Time now);
  void broken(size_t shard, const std::string& why, Time now);
  // What a Failure of a shard means: a sentence where joining anew is the answer, else it throws
  // Error. Also for those that come after this trainer has joined.
  std::string disruption(size_t shard, const wire::Failure& failure);
  void tick(Time now);

  // ---- what to do
  std::vector<JoinAction> take_actions();
  Time wake_at() const { return times_.wake; }

  Phase phase() const { return phase_; }
  // What `exchange`, `configure` and the others are about; the answer once done.
  const JoinDecision& decision() const { return decision_; }
  const wire::Hello& hello() const { return identity_.hello(); }
  // The caller says where an attempt to reach a shard came to nothing; it goes on trying.
  ShardAnswers& answers() { return answers_; }
  // What the shards said of the slices, by id.
  std::vector<wire::SliceState> slice_states() const {
    return answers_.slices(setup_.slices, question_.first_step);
  }
  // What it waits for; completes "waiting for …".
  std::string waiting_for() const;

 private:
  void act(JoinAction::Kind kind, size_t shard = 0) { actions_.push_back({kind, shard, ""}); }
  void begin(Time now);
  void greet_all(Time now);
  void decide_next(Time now);
  void begin_work(Time now);
  void try_again(const std::string& why, Time now);
  void pause(const std::string& why, Time until);
  void end();

  const JoinSetup setup_;
  JoinIdentity identity_;
  JoinQuestion question_;
  Phase phase_ = Phase::done;
  ShardAnswers answers_;
  std::vector<JoinAction> actions_;
  JoinDecision decision_;
  std::vector<size_t> work_;  // shards whose Ack is missing; configure asks the first of them only
  struct {
    Time start, phase, decision, wake;
    Time id_taken;  // since when another process has the id of this trainer, which had joined
  } times_;
  std::string paused_for_;  // what went wrong before the present pause, or what it waits for
  int tries_ = 0;
  uint64_t epoch_ = 0;   // the newest that the shards told of last
  bool pulled_ = false;  // some values of the shards may have replaced the first ones here
  bool beats_ = false;
  bool said_wait_ = false;  // that a shard asked this trainer to come again
};

}  // namespace paddle
