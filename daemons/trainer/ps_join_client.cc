// Joining a job, for the first time and after anything broke.
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/random.h"
#include "trainer/ps_wait.h"

namespace paddle {
namespace {

constexpr int max_recoveries = 100;  // without a step between them
constexpr int max_other_ids = 10;    // that a trainer without --trainer_id asks for
// A trainer with other first values has this long between two shards that it configures.
constexpr auto configurer_patience = std::chrono::seconds(5);

}  // namespace

void PsClient::check_links() {
  for (const auto& link : links_) {
    if (!link->broken()) continue;
    const std::string who = "pserver " + link->endpoint().text();
    if (const auto& f = link->failure()) {
      switch (f->code) {
        case wire::FailureCode::refused:
          ask_for_another_id(*f);
          throw Error(Error::Kind::config, who, " refused: ", f->message);
        case wire::FailureCode::job_failed:
          throw Error(Error::Kind::peer, "the job ended: ", f->message);
        case wire::FailureCode::not_finite:
          throw Error(Error::Kind::numeric, who, ": ", f->message);
        case wire::FailureCode::protocol:
          throw Error(Error::Kind::protocol, who,
                      " does not understand this trainer: ", f->message);
        case wire::FailureCode::expired: lost_id_ = true; break;
        default: break;
      }
    }
    throw Disrupted{who + ": " + link->trouble()};
  }
}

std::string PsClient::pending_text() const {
  for (const SliceLine& line : lines_) {
    if (!line.awaited) continue;
    const std::string at = text("pserver ", links_[line.spec->shard]->endpoint().text(), " (",
                                line.spec->name, ", step ", step_, ")");
    const std::string others = heartbeat_ ? heartbeat_->news().waiting : "";
    return others.empty() ? at : text(at, ", which is ", others);
  }
  return "nothing";
}

// Until the first `count` shards have greeted back. Those that cannot be reached are named; the
// first refusal ends the trainer.
void PsClient::wait_for_greetings(size_t count) {
  WaitVoice voice;
  const auto missing = [&]() -> ShardLink* {
    for (size_t i = 0; i < count; ++i)
      if (links_[i]->greeting() == nullptr) return links_[i].get();
    return nullptr;
  };
  while (ShardLink* link = missing()) {
    io_.run_one_for(std::chrono::milliseconds(200));
    io_.poll();
    for (const auto& l : std::span(links_).first(count)) {
      if (!l->broken()) continue;
      if (l->failure() && (l->failure()->code == wire::FailureCode::refused ||
                           l->failure()->code == wire::FailureCode::job_failed))
        check_links();
      if (l->failure() && l->failure()->code == wire::FailureCode::expired)
        throw Disrupted{l->trouble()};
      l->greet(options_.hello);
    }
    const auto who = [&] {
      return text("pserver ", link->endpoint().text(), ": ", link->trouble());
    };
    voice.speak(who);
    check_interrupt();
    if (stop_signal() != 0) throw Stopped{};
    require(voice.seconds() < options_.peer_timeout, Error::Kind::peer, "gave up waiting for ",
            who(), " (", static_cast<int>(voice.seconds()),
            " s; --peer_timeout sets how long): is the pserver running, and is its address right?");
  }
}

// Where slices land: first values may come into new memory.
void PsClient::locate() {
  for (const SliceSpec& s : cut_.slices) {
    const Tensor& t = scope_.tensor(s.param);
    lines_[static_cast<size_t>(&s - cut_.slices.data())].value =
        static_cast<std::byte*>(t.raw()) +
        static_cast<size_t>(s.first_element()) * size_of(s.dtype);
  }
}

Rewind PsClient::join(uint64_t first_step) {
  first_step_ = first_step;
  locate();
  init_ = initial_digest();
  if (!heartbeat_) {
    RandomStream random(static_cast<uint64_t>(wire::Clock::now().time_since_epoch().count()),
                        static_cast<uint64_t>(::getpid()));
    options_.hello.incarnation = random.bits(0) | 1;
  }
  return join_once(first_step);
}

// The first shard assigns an id to a trainer that was started without one; the others hear that id.
// An id that was given out holds once the trainer has joined: until then the shard may have
// forgotten it, between two connections, and given it to another.
void PsClient::ask_for_another_id(const ShardFailure& refusal) {
  const bool has_own = was_given_id_ && !options_.hello.takes_id && !joined_once_;
  if (!has_own || ++other_ids_ > max_other_ids) return;
  options_.hello.takes_id = true;
  heartbeat_.reset();
  throw Disrupted{refusal.message};
}

void PsClient::take_id() {
  const auto others = std::span(links_).subspan(1);
  for (const auto& link : others) link->hang_up();
  links_[0]->greet(options_.hello);
  wait_for_greetings(1);
  options_.hello.trainer = links_[0]->greeting()->trainer;
  options_.hello.takes_id = false;
  was_given_id_ = true;
}

bool PsClient::holds_slices(size_t shard) const {
  return std::any_of(lines_.begin(), lines_.end(),
                     [&](const SliceLine& l) { return l.spec->shard == shard; });
}

Rewind PsClient::join_once(uint64_t first_step) {
  WaitVoice voice;
  std::string said;
  auto said_at = wire::Clock::now();
  for (int tries = 0;; ++tries) {
    // What does not work at once is not asked a thousand times a second.
    if (tries > 5) io_.run_for(std::chrono::milliseconds(20 << std::min(tries - 5, 3)));
    check_interrupt();
    try {
      if (options_.hello.takes_id) take_id();
      for (const auto& link : links_) link->greet(options_.hello);
      wait_for_greetings(links_.size());
      std::vector<Greeting> greetings;
      for (const auto& link : links_) {
        greetings.push_back(*link->greeting());
        greetings.back().holds = holds_slices(greetings.size() - 1);
      }
      if (!heartbeat_) heartbeat_ = std::make_unique<Heartbeat>(options_.shards, options_.hello);
      const JoinDecision d =
          decide(greetings, {.mode = options_.hello.mode,
                             .init = init_,
                             .first_step = first_step,
                             .margin = margin_,
                             .impatient = wire::Clock::now() - said_at > configurer_patience});
      if (!d.why.empty() && d.why != said) log_warn(d.why);
      if (d.why != said || d.action != JoinDecision::Action::wait) said_at = wire::Clock::now();
      said = d.why;
      switch (d.action) {
        case JoinDecision::Action::configure: configure(d); break;
        case JoinDecision::Action::rollback: roll_back(d); break;
        case JoinDecision::Action::join: enter(d); return {d.step, d.place, ""};
        case JoinDecision::Action::wait:
          require(voice.seconds() < options_.peer_timeout, Error::Kind::peer, "gave up after ",
                  static_cast<int>(voice.seconds()), " s: ", d.why);
          io_.run_one_for(std::chrono::milliseconds(100));
          check_interrupt();
      }
    } catch (const Disrupted& broken) {
      log_detail(1, broken.why);
      // The job went on while a dropped trainer tried to catch up: aim further ahead. Once a shard
      // has let it join, the others wait for it.
      const auto& first = links_[0]->greeting();
      margin_ = first && first->lost ? margin_ * 2 + 1 : 0;
      if (lost_id_) {
        options_.hello.incarnation = mix64(options_.hello.incarnation) | 1;
        heartbeat_ = std::make_unique<Heartbeat>(options_.shards, options_.hello);
        lost_id_ = false;
      }
      require(voice.seconds() < options_.peer_timeout, Error::Kind::peer, "gave up after ",
              static_cast<int>(voice.seconds()), " s: ", broken.why);
    }
  }
}

// Whether the gradient whose answer did not come has to be sent again. The shard may be another
// process with older values by now.
bool PsClient::is_missing(SliceLine& line) const {
  if (!staged() || !line.unanswered) return false;
  for (const Greeting::Slice& s : links_[line.spec->shard]->greeting()->slices) {
    if (s.id != line.id) continue;
    line.version = std::min(line.version, s.version);
    return s.steps <= line.sent_step;
  }
  return false;
}

void PsClient::pull_line(SliceLine& line, uint64_t version) {
  ShardLink& link = *links_[line.spec->shard];
  if (!link.open()) throw Disrupted{link.trouble()};
  const wire::PullPart part{version, line.id, 0};
  link.connection().send(0, wire::Pull{epoch_, {&part, 1}});
  line.awaited = true;
}

// All shards are ready: rounds from d.step on wait for this trainer, and the values of that step
// come.
void PsClient::enter(const JoinDecision& d) {
  epoch_ = d.epoch;
  finished_ = false;
  request({}, "to let this trainer join", [&](ShardLink& link, uint64_t id) {
    link.connection().send(id, wire::Join{epoch_, d.step});
  });
  for (SliceLine& line : lines_) {
    // A gradient that async or geo made is not made again: what did not arrive is sent again.
    if (is_missing(line)) {
      send_push(line, line.sent_step, std::as_bytes(std::span(line.sending)), wire::Bulk::stays);
      continue;
    }
    pull_line(line, options_.hello.mode == wire::Mode::sync ? d.step : 0);
    line.unanswered = false;
    line.version = 0;
  }
  step_ = d.step;
  wait([&] { return pending_text(); },
       [&] {
         return std::none_of(lines_.begin(), lines_.end(), [](auto& l) { return l.awaited; });
       });
  if (options_.geo_steps > 0)
    for (SliceLine& line : lines_) {
      line.old = line.incoming;
      std::memcpy(line.value, line.incoming.data(), static_cast<size_t>(line.spec->bytes()));
    }
  margin_ = 0;
  joined_once_ = true;
}

void PsClient::roll_back(const JoinDecision& d) {
  log_warn(text("all pservers go back to step ", d.step));
  request(d.shards, "to go back", [&](ShardLink& link, uint64_t id) {
    link.connection().send(id, wire::Rollback{d.epoch, d.step});
  });
}

void PsClient::recover(const Disrupted& broken) {
  require(++recoveries_ <= max_recoveries, Error::Kind::peer, "gave up after ", max_recoveries,
          " recoveries in step ", step_, ": ", broken.why);
  log_warn(text(broken.why, "; waiting for it to return"));
  Rewind to = join_once(first_step_);
  if (staged() && next_place_) {  // nothing is computed again
    to.step = next_step_;
    to.place = next_place_;
  }
  to.why = broken.why;
  log_info(text("all pservers are back: going on with step ", to.step));
  throw to;
}

}  // namespace paddle
