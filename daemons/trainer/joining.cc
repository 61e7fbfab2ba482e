#include "trainer/joining.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace paddle {
namespace {

constexpr int max_other_ids = 10;  // that a trainer without --trainer_id asks for
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

}  // namespace

bool belongs_to_decision(JoinAction::Kind kind) {
  using Kind = JoinAction::Kind;
  return kind == Kind::configure || kind == Kind::rollback || kind == Kind::join ||
         kind == Kind::exchange;
}

Joining::Joining(JoinSetup setup, wire::Hello hello)
    : setup_(std::move(setup)), hello_(std::move(hello)), shards_(setup_.shards.size()) {
  question_.mode = hello_.mode;
  for (Shard& s : shards_) s.error = "not greeted yet";
}

void Joining::start(const std::string& init, uint64_t first_step, Time now) {
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
  for (Shard& s : shards_) s.welcome.reset();
  if (!hello_.takes_id) return greet_all(now);
  phase_ = Phase::take_id;
  for (size_t i = 1; i < shards_.size(); ++i) act(JoinAction::Kind::hang_up, i);
  act(JoinAction::Kind::greet, 0);
}

void Joining::greet_all(Time now) {
  phase_ = Phase::greet;
  times_.phase = now;
  for (size_t i = 0; i < shards_.size(); ++i) {
    shards_[i].welcome.reset();
    act(JoinAction::Kind::greet, i);
  }
}

size_t Joining::first_missing() const {
  const size_t count = phase_ == Phase::take_id ? 1 : shards_.size();
  for (size_t i = 0; i < count; ++i)
    if (!shards_[i].welcome) return i;
  return shards_.size();
}

void Joining::welcome(size_t shard, wire::Welcome welcome, Time now) {
  shards_[shard].welcome = std::move(welcome);
  if (!greets(phase_) || first_missing() < shards_.size()) return;
  if (phase_ == Phase::take_id) {
    hello_.trainer = shards_[0].welcome->trainer;
    hello_.takes_id = false;
    was_given_id_ = true;
    return greet_all(now);
  }
  if (!beats_) act(JoinAction::Kind::beat);
  beats_ = true;
  decide_next(now);
}

// ---- what to do about the answers

void Joining::decide_next(Time now) {
  std::vector<Greeting> greetings;
  for (size_t i = 0; i < shards_.size(); ++i) {
    greetings.push_back(read_greeting(*shards_[i].welcome, setup_.shards[i]));
    greetings.back().holds = setup_.holds[i];
  }
  question_.configurer_timed_out = now - times_.decision > configurer_timeout;
  question_.lives = joined_once_;
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
      if (with_slices && pulled_ && (hello_.mode == wire::Mode::sync || !joined_once_))
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
  joined_once_ = true;
  phase_ = Phase::done;
  times_.wake = never;
}

// ---- what goes wrong

// An id that was given out holds once the trainer has joined: until then the shard may have
// forgotten it, between two connections, and given it to another trainer.
bool Joining::ask_for_another_id() {
  const bool has_own = was_given_id_ && !hello_.takes_id && !joined_once_;
  if (!has_own || ++other_ids_ > max_other_ids) return false;
  hello_.takes_id = true;
  beats_ = false;
  act(JoinAction::Kind::stop_beat);
  return true;
}

std::string Joining::disruption(size_t shard, const wire::Failure& failure) {
  const std::string who = "pserver " + setup_.shards[shard];
  switch (failure.code) {
    case wire::FailureCode::refused:
    case wire::FailureCode::id_taken:
      if (ask_for_another_id()) return who + ": " + failure.message;
      throw Error(Error::Kind::config, who, " refused: ", failure.message);
    case wire::FailureCode::job_over:
    case wire::FailureCode::job_failed:
      throw Error(Error::Kind::peer, "the job ended: ", failure.message);
    case wire::FailureCode::not_finite:
      throw Error(Error::Kind::numeric, who, ": ", failure.message);
    case wire::FailureCode::protocol:
      throw Error(Error::Kind::protocol, who,
                  " does not understand this trainer: ", failure.message);
    case wire::FailureCode::expired:
      ++hello_.renewal;  // for all shards alike
      beats_ = false;    // they begin anew as the new renewal
      break;
    case wire::FailureCode::stale_epoch:
    case wire::FailureCode::stopping:
    case wire::FailureCode::unknown_version:
    case wire::FailureCode::wait: break;
  }
  return who + ": " + failure.message;
}

// Whether an answer to a greeting means: later.
bool Joining::greets_again_after(const wire::Failure& failure, Time now) {
  switch (failure.code) {
    case wire::FailureCode::refused:
    case wire::FailureCode::job_failed:
    case wire::FailureCode::job_over:
    case wire::FailureCode::expired: return false;
    case wire::FailureCode::id_taken:
      // Whoever was in the job does not give up for a second one that some shard let in while this
      // one was cut off: the others refuse that.
      if (!joined_once_) return false;
      if (times_.id_taken == Time{}) times_.id_taken = now;
      return seconds(times_.id_taken, now) < duplicate_seconds;
    default: return true;
  }
}

// Nothing is left to do here.
void Joining::end() {
  decision_ = {.action = JoinDecision::Action::over};
  phase_ = Phase::done;
  times_.wake = never;
}

void Joining::failed(size_t shard, const wire::Failure& failure, Time now) {
  shards_[shard].error = failure.message;
  if (failure.code == wire::FailureCode::job_over && hello_.finished && hello_.trainer != 0 &&
      phase_ != Phase::done)
    return end();
  if (failure.code == wire::FailureCode::wait && !said_wait_) {
    said_wait_ = true;
    actions_.push_back(
        {JoinAction::Kind::warn, 0, text("pserver ", setup_.shards[shard], ": ", failure.message)});
  }
  if (greets(phase_) && greets_again_after(failure, now))
    return broken(shard, failure.message, now);
  if (phase_ == Phase::done || phase_ == Phase::pause) return;
  try_again(disruption(shard, failure), now);
}

void Joining::broken(size_t shard, const std::string& why, Time now) {
  shards_[shard].error = why;
  if (phase_ == Phase::done || phase_ == Phase::pause) return;
  if (!greets(phase_)) return try_again("pserver " + setup_.shards[shard] + ": " + why, now);
  if (phase_ == Phase::take_id && shard != 0) return;
  shards_[shard].welcome.reset();
  act(JoinAction::Kind::greet, shard);
}

// The job went on while a dropped trainer tried to catch up: it aims further ahead. Once a shard
// has let it join, the others wait for it.
void Joining::try_again(const std::string& why, Time now) {
  const auto& first = shards_[0].welcome;
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

// ---- what there is to say

std::string Joining::waiting_for() const {
  if (phase_ == Phase::pause) return "the next try to join: " + paused_for_;
  if (phase_ == Phase::values) return "the values of all parameters";
  const size_t shard = greets(phase_) ? first_missing() : work_.empty() ? 0 : work_.front();
  if (shard >= shards_.size()) return "nothing";
  const std::string who = "pserver " + setup_.shards[shard];
  if (greets(phase_)) return who + ": " + shards_[shard].error;
  switch (decision_.action) {
    case JoinDecision::Action::configure: return who + " to take its first values";
    case JoinDecision::Action::rollback: return who + " to go back";
    default: return who + " to let this trainer join";
  }
}

std::vector<uint64_t> Joining::bases() const {
  std::vector<uint64_t> out;
  for (const Shard& s : shards_) out.push_back(s.welcome ? s.welcome->base : 0);
  return out;
}

std::vector<wire::SliceState> Joining::slice_states() const {
  // Of a slice that no shard mentioned nothing is sent again.
  std::vector<wire::SliceState> out(setup_.slices, {.last_step = ~uint64_t{0}});
  for (const Shard& s : shards_)
    if (s.welcome)
      for (const wire::SliceState& slice : s.welcome->slices)
        if (slice.slice < out.size()) {
          out[slice.slice] = slice;
          out[slice.slice].last_step = std::max(slice.last_step, question_.first_step);
        }
  return out;
}

}  // namespace paddle
