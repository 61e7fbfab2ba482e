#include "trainer/joining.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace paddle {
namespace {

// A trainer with other first values has this long between two shards that it configures.
constexpr auto configurer_timeout = std::chrono::seconds(5);
// A second trainer with the id of this one gives up within this time, unless it has replaced it.
constexpr double duplicate_seconds = 10;
constexpr auto ask_again = std::chrono::milliseconds(100);  // another trainer is at work
constexpr int tries_at_once = 6;                            // before there is a pause between them
constexpr auto shortest_pause = std::chrono::milliseconds(40);
constexpr auto never = Time::max();

bool greets(Joining::Phase phase) {
  return phase == Joining::Phase::take_id || phase == Joining::Phase::greet;
}

// The first shard whose answer to a greeting is missing.
size_t first_missing(const ShardAnswers& answers, Joining::Phase phase) {
  return answers.first_missing(phase == Joining::Phase::take_id ? 1 : answers.size());
}

// Whether an answer to a greeting means: later. `id_taken`: since when another process has the id
// of this trainer, which had joined.
bool greets_again_after(wire::FailureCode code, bool joined, Time& id_taken, Time now) {
  switch (code) {
    case wire::FailureCode::refused:
    case wire::FailureCode::job_failed:
    case wire::FailureCode::job_over:
    case wire::FailureCode::expired: return false;
    case wire::FailureCode::id_taken:
      // Whoever was in the job does not give up for a second one that some shard let in while this
      // one was cut off: the others refuse that.
      if (!joined) return false;
      if (id_taken == Time{}) id_taken = now;
      return seconds(id_taken, now) < duplicate_seconds;
    default: return true;
  }
}

}  // namespace

bool belongs_to_decision(JoinAction::Kind kind) {
  using Kind = JoinAction::Kind;
  return kind == Kind::configure || kind == Kind::rollback || kind == Kind::join ||
         kind == Kind::exchange;
}

Joining::Joining(JoinSetup setup, wire::Hello hello)
    : setup_(std::move(setup)), identity_(std::move(hello)), answers_(setup_.shards.size()) {
  question_.mode = identity_.hello().mode;
}

void Joining::start(const std::string& init, uint64_t first_step, bool finished, Time now) {
  identity_.set_finished(finished);
  question_.finished = finished;
  question_.init = init;
  question_.first_step = first_step;
  question_.configurer_timed_out = false;
  times_.start = times_.decision = now;
  times_.id_taken = {};
  said_wait_ = false;
  tries_ = 0;
  decision_ = {};
  actions_.clear();
  begin(now);
}

std::vector<JoinAction> Joining::take_actions() { return std::exchange(actions_, {}); }

// ---- greeting

// The first shard assigns an id to a trainer that was started without one; the others are greeted
// with that id.
void Joining::begin(Time now) {
  // What an earlier decision asked for, and nobody has taken yet, is void. If it stayed in front of
  // the greetings, a request that fails would take them with it.
  std::erase_if(actions_, [](const JoinAction& a) { return belongs_to_decision(a.kind); });
  times_.phase = now;
  times_.wake = never;
  ++tries_;
  answers_.forget();
  if (!hello().takes_id) return greet_all(now);
  phase_ = Phase::take_id;
  for (size_t i = 1; i < answers_.size(); ++i) act(JoinAction::Kind::hang_up, i);
  act(JoinAction::Kind::greet, 0);
}

void Joining::greet_all(Time now) {
  phase_ = Phase::greet;
  times_.phase = now;
  answers_.forget();
  for (size_t i = 0; i < answers_.size(); ++i) act(JoinAction::Kind::greet, i);
}

void Joining::welcome(size_t shard, wire::Welcome welcome, Time now) {
  answers_.set(shard, std::move(welcome));
  // One shard with the result is enough: the others may never come back.
  if (greets(phase_) && knows_end(read_greeting(*answers_.of(shard), ""), question_)) return end();
  if (!greets(phase_) || first_missing(answers_, phase_) < answers_.size()) return;
  if (phase_ == Phase::take_id) {
    identity_.given(answers_.of(0)->trainer);
    return greet_all(now);
  }
  if (!beats_) act(JoinAction::Kind::beat);
  beats_ = true;
  decide_next(now);
}

// ---- what to do about the answers

void Joining::decide_next(Time now) {
  std::vector<Greeting> greetings;
  for (size_t i = 0; i < answers_.size(); ++i) {
    greetings.push_back(read_greeting(*answers_.of(i), setup_.shards[i]));
    greetings.back().holds = setup_.holds[i];
  }
  question_.configurer_timed_out = now - times_.decision > configurer_timeout;
  // A job that has gone back has nothing to catch up with.
  uint64_t epoch = 0;
  for (const Greeting& g : greetings) epoch = std::max(epoch, g.epoch);
  if (std::exchange(epoch_, epoch) != epoch) question_.margin = 0;
  JoinDecision d = decide(greetings, question_);
  if (!d.why.empty() && d.why != decision_.why)
    actions_.push_back({JoinAction::Kind::warn, 0, d.why});
  if (d.why != decision_.why || d.action != JoinDecision::Action::wait) times_.decision = now;
  decision_ = std::move(d);
  if (decision_.action != JoinDecision::Action::wait) return begin_work(now);
  const double waited = seconds(times_.start, now);
  require(waited < setup_.peer_timeout, Error::Kind::peer, "gave up after ",
          static_cast<int>(waited), " s: ", decision_.why);
  pause(decision_.why, now + ask_again);
}

void Joining::begin_work(Time now) {
  phase_ = Phase::work;
  times_.phase = now;
  work_ = decision_.shards;
  switch (decision_.action) {
    case JoinDecision::Action::configure: {
      const bool with_slices = std::any_of(work_.begin(), work_.end(),
                                           [&](size_t shard) { return setup_.holds[shard]; });
      // Async goes on with the values of now; sync starts again, with the bits that it began with.
      if (with_slices && pulled_ && (question_.mode == wire::Mode::sync || !question_.lives))
        act(JoinAction::Kind::first_values);
      if (with_slices && decision_.reset)
        actions_.push_back(
            {JoinAction::Kind::warn, 0,
             text("all go back to step ", decision_.step,
                  ": start pservers with --snapshot_dir to go back less after a crash")});
      return act(JoinAction::Kind::configure, work_.front());
    }
    case JoinDecision::Action::rollback:
      actions_.push_back(
          {JoinAction::Kind::warn, 0, text("all pservers go back to step ", decision_.step)});
      for (const size_t shard : work_) act(JoinAction::Kind::rollback, shard);
      return;
    case JoinDecision::Action::join:
      for (const size_t shard : work_) act(JoinAction::Kind::join, shard);
      return;
    case JoinDecision::Action::over: return end();
    case JoinDecision::Action::wait: return;
  }
}

// One shard is configured after the other: of two trainers that begin, one wins the first shard and
// with it all of them.
void Joining::acked(size_t shard, Time now) {
  if (phase_ != Phase::work || std::erase(work_, shard) == 0) return;
  const bool configures = decision_.action == JoinDecision::Action::configure;
  if (configures) times_.phase = now;
  if (configures && !work_.empty()) return act(JoinAction::Kind::configure, work_.front());
  if (!work_.empty()) return;
  if (decision_.action != JoinDecision::Action::join) return begin(now);
  phase_ = Phase::values;
  pulled_ = true;
  act(JoinAction::Kind::exchange);
}

void Joining::values_arrived(Time) {
  if (phase_ != Phase::values) return;
  question_.margin = 0;
  question_.lives = true;
  phase_ = Phase::done;
  times_.wake = never;
}

// ---- what goes wrong

std::string Joining::disruption(size_t shard, const wire::Failure& failure) {
  const std::string who = "pserver " + setup_.shards[shard];
  switch (failure.code) {
    case wire::FailureCode::refused:
    case wire::FailureCode::id_taken:
      if (!identity_.ask_for_another(question_.lives))
        throw Error(Error::Kind::config, who, " refused: ", failure.message);
      beats_ = false;
      act(JoinAction::Kind::stop_beat);
      break;
    case wire::FailureCode::job_over:
    case wire::FailureCode::job_failed:
      throw Error(Error::Kind::peer, "the job ended: ", failure.message);
    case wire::FailureCode::not_finite:
      throw Error(Error::Kind::numeric, who, ": ", failure.message);
    case wire::FailureCode::protocol:
      throw Error(Error::Kind::protocol, who,
                  " does not understand this trainer: ", failure.message);
    case wire::FailureCode::expired:
      identity_.renew();
      beats_ = false;  // they begin anew as the new renewal
      break;
    case wire::FailureCode::stale_epoch:
    case wire::FailureCode::stopping:
    case wire::FailureCode::unknown_version:
    case wire::FailureCode::wait: break;
  }
  return who + ": " + failure.message;
}

// Nothing is left to do here.
void Joining::end() {
  decision_ = {.action = JoinDecision::Action::over};
  phase_ = Phase::done;
  times_.wake = never;
}

void Joining::failed(size_t shard, const wire::Failure& failure, Time now) {
  answers_.set_error(shard, failure.message);
  if (failure.code == wire::FailureCode::job_over && hello().finished && hello().trainer != 0 &&
      phase_ != Phase::done)
    return end();
  if (failure.code == wire::FailureCode::wait && !said_wait_) {
    said_wait_ = true;
    actions_.push_back(
        {JoinAction::Kind::warn, 0, text("pserver ", setup_.shards[shard], ": ", failure.message)});
  }
  if (greets(phase_) && greets_again_after(failure.code, question_.lives, times_.id_taken, now))
    return broken(shard, failure.message, now);
  if (phase_ == Phase::done || phase_ == Phase::pause) return;
  try_again(disruption(shard, failure), now);
}

void Joining::broken(size_t shard, const std::string& why, Time now) {
  answers_.set_error(shard, why);
  if (phase_ == Phase::done || phase_ == Phase::pause) return;
  if (!greets(phase_)) return try_again("pserver " + setup_.shards[shard] + ": " + why, now);
  if (phase_ == Phase::take_id && shard != 0) return;
  answers_.forget(shard);
  act(JoinAction::Kind::greet, shard);
}

// The job went on while a dropped trainer tried to catch up: it aims further ahead. Once a shard
// has let it join, the others wait for it.
void Joining::try_again(const std::string& why, Time now) {
  const auto& first = answers_.of(0);
  question_.margin = first && first->lost ? question_.margin * 2 + 1 : 0;
  const double waited = seconds(times_.start, now);
  require(waited < setup_.peer_timeout, Error::Kind::peer, "gave up after ",
          static_cast<int>(waited), " s: ", why);
  // What does not work at once is not asked a thousand times a second.
  if (tries_ < tries_at_once) return begin(now);
  pause(why, now + shortest_pause * (1 << std::min(tries_ - tries_at_once, 2)));
}

void Joining::pause(const std::string& why, Time until) {
  phase_ = Phase::pause;
  paused_for_ = why;
  times_.wake = until;
}

void Joining::tick(Time now) {
  if (phase_ == Phase::pause && now >= times_.wake) return begin(now);
  const double waited = seconds(times_.phase, now);
  if (waited < setup_.peer_timeout) return;
  if (greets(phase_))
    throw Error(Error::Kind::peer, "gave up waiting for ", waiting_for(), " (",
                static_cast<int>(waited),
                " s; --peer_timeout sets how long): is the pserver running, and is its address "
                "right?");
  if (phase_ == Phase::work && decision_.action != JoinDecision::Action::configure)
    throw Error(Error::Kind::peer, "gave up waiting for ", waiting_for(), " (",
                static_cast<int>(waited), " s; --peer_timeout sets how long)");
}

// ---- for the log

std::string Joining::waiting_for() const {
  if (phase_ == Phase::pause) return "the next try to join: " + paused_for_;
  if (phase_ == Phase::values) return "the values of all parameters";
  const size_t shard = greets(phase_)  ? first_missing(answers_, phase_)
                       : work_.empty() ? 0
                                       : work_.front();
  if (shard >= answers_.size()) return "nothing";
  const std::string who = "pserver " + setup_.shards[shard];
  if (greets(phase_)) return who + ": " + answers_.error(shard);
  switch (decision_.action) {
    case JoinDecision::Action::configure: return who + " to take its first values";
    case JoinDecision::Action::rollback: return who + " to go back";
    default: return who + " to let this trainer join";
  }
}

}  // namespace paddle
