#include "trainer/job_end.h"

#include <algorithm>
#include <optional>

#include "base/error.h"

namespace paddle {
namespace {

// Trainer 0, where others wait to hear that it has saved: as long as a pserver may need to return.
constexpr double bye_seconds = 60, bye_seconds_alone = 5;
// The others hear it within milliseconds, unless one of them stands still.
constexpr double stay_seconds = 10;
// The news that all have left comes by the heartbeats, and may be behind the end of the connection.
constexpr double news_seconds = 0.3;
// A pserver that knows that the job has ended, and not who has left, may be lost with that.
constexpr double look_again_seconds = 1;

Time::duration duration_of(double seconds) {
  return std::chrono::duration_cast<Time::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

Time JobEnd::check() {
  driver_.check();
  const ShardNews news = links_.news();
  if (trainer() != 0 && (news.result || (had_finished_ && news.saved)))
    throw Rewind{.why = "the job has ended", .over = true};
  return Time::max();
}

void JobEnd::finish() {
  std::vector<bool> done(links_.size());
  complete(wire::Phase::finished, "to hear that this trainer has finished", done);
  finished_ = had_finished_ = true;
}

// Shards answer this at once. If one sends heartbeats and waits for no trainer, but does not
// answer, the wait ends after peer_timeout.
void JobEnd::complete(wire::Phase phase, const std::string& what, std::vector<bool>& done) {
  std::vector<uint64_t> ids(links_.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    if (done[i]) continue;
    ids[i] = links_[i].expect_ack();
    // One that is not connected lacks it.
    const bool result = phase == wire::Phase::bye && all_finished_;
    links_.request(i, ids[i], wire::Complete{phase, driver_.epoch(), result});
  }
  for (size_t i = 0; i < ids.size(); ++i)
    if (!done[i]) links_.require_open(i);
  // Looks at all of them: a shard that has acknowledged it may be gone before another one has.
  const auto missing = [&] {
    const LinkState* first = nullptr;
    for (size_t i = 0; i < ids.size(); ++i) {
      done[i] = done[i] || links_[i].acked(ids[i]);
      if (!done[i] && first == nullptr) first = &links_[i];
    }
    return first;
  };
  const auto waiting = [&] {
    const LinkState* link = missing();
    return link ? text("pserver ", link->endpoint(), " ", what) : "nothing";
  };
  const Time start = links_.now();
  links_.wait(
      waiting, [&] { return missing() == nullptr; },
      [&] {
        for (size_t i = 0; i < done.size(); ++i)
          if (!done[i]) driver_.check(i);
        const double waited = seconds(start, links_.now());
        if (waited > peer_timeout_ && missing() && links_.news().waiting.empty())
          throw Error(Error::Kind::peer, "gave up waiting for ", waiting(), " (",
                      static_cast<int>(waited), " s; --peer_timeout sets how long)");
        return Time::max();
      });
}

// What the shards say of this epoch counts; what they said of the one before does not.
void JobEnd::wait_for_news(const std::string& what,
                           bool (*enough)(const ShardNews&, uint32_t trainers)) {
  const auto done = [&] {
    const ShardNews news = links_.news();
    require(news.failure.empty(), Error::Kind::peer, "the job ended: ", news.failure);
    return news.epoch == driver_.epoch() && enough(news, driver_.hello().trainers);
  };
  try {
    links_.wait([&] { return text(what, "; ", links_.news().waiting); }, done,
                [&] { return done() ? Time::max() : check(); });
  } catch (const Disrupted&) {  // what was waited for has happened before
    if (!done()) throw;
  }
}

void JobEnd::wait_for_others() {
  wait_for_news("the other trainers to finish",
                [](const ShardNews& news, uint32_t n) { return news.finished >= n; });
  all_finished_ = trainer() == 0;
}

void JobEnd::wait_for_save() {
  if (trainer() == 0) return;
  wait_for_news("trainer 0 to save", [](const ShardNews& news, uint32_t) { return news.saved; });
}

// A pserver exits when all trainers have left, so it may be gone already; that is no error. But the
// others wait for trainer 0 to leave, and no other process can inform them: trainer 0 connects
// again where its connection broke.
void JobEnd::leave() {
  const double tries = driver_.hello().trainers > 1 ? bye_seconds : bye_seconds_alone;
  Leaving l{.until = links_.now() + duration_of(std::min(tries, peer_timeout_)),
            .done = std::vector<bool>(links_.size()),
            .refused = std::vector<bool>(links_.size()),
            .refused_at = {}};
  for (bool again = false;; again = true) {
    try {
      complete(wire::Phase::bye, "to let this trainer go", l.done);
      return wait_until_left(l);
    } catch (const Disrupted&) {
    } catch (const Error&) {
      if (!again) throw;
    }
    const bool stayed = l.refused_at && seconds(*l.refused_at, links_.now()) >= stay_seconds;
    if (trainer() != 0 || others_left() || stayed || links_.now() >= l.until) return;
    greet_those_left(l);
  }
}

bool JobEnd::others_left() const {
  return all_finished_ && links_.news().left >= driver_.hello().trainers;
}

// Where a shard has ended the job, all trainers have left; but a shard that has been started again
// since has only the result on its disk. A shard that is lost is sent the result again when it
// returns: trainers that have not left may have no other source of it.
void JobEnd::wait_until_left(Leaving& l) {
  if (!all_finished_ || driver_.hello().trainers == 1) return;
  const Time stays =
      std::min(l.until, l.refused_at.value_or(links_.now()) + duration_of(stay_seconds));
  const auto ended = [&](size_t i) {
    return !l.refused[i] && links_[i].failure() &&
           links_[i].failure()->code == wire::FailureCode::job_over;
  };
  const auto left = [&] {
    bool any_ended = false;
    for (size_t i = 0; i < l.done.size(); ++i) any_ended = any_ended || ended(i);
    return any_ended || others_left() || links_.now() >= stays;
  };
  std::optional<Time> broken;
  links_.wait([] { return "the other trainers to leave"; }, left,
              [&] {
                for (size_t i = 0; i < l.done.size(); ++i) {
                  if (!links_[i].broken()) continue;
                  if (!broken) broken = links_.now();
                  const Time until_news =
                      *broken + duration_of(l.refused[i] ? look_again_seconds : news_seconds);
                  if (links_.now() < until_news) return std::min(stays, until_news);
                  l.done[i] = false;
                  throw Disrupted{links_[i].last_error()};
                }
                return stays;
              });
}

// Connects again to the shards that have not got the end of this trainer. One that refuses it has
// got it, and the job is over there; a greeting that is cut off is sent again.
void JobEnd::greet_those_left(Leaving& l) {
  std::vector<bool> greets(links_.size());
  for (size_t i = 0; i < greets.size(); ++i) {
    greets[i] = !l.done[i] && (!links_.open(i) || links_[i].broken());
    if (!greets[i]) continue;
    l.refused[i] = false;
    links_.greet(i, driver_.hello());
  }
  const auto greeted = [&] {
    for (size_t i = 0; i < greets.size(); ++i) {
      if (!greets[i] || !links_[i].take_welcome()) continue;
      greets[i] = false;
      l.refused_at.reset();
    }
    return std::none_of(greets.begin(), greets.end(), [](bool g) { return g; }) || others_left() ||
           links_.now() >= l.until;
  };
  const auto check = [&] {
    for (size_t i = 0; i < greets.size(); ++i) {
      if (!greets[i]) continue;
      try {
        driver_.check(i);
      } catch (const Disrupted&) {
        links_.greet(i, driver_.hello());
      } catch (const Error&) {
        l.done[i] = l.refused[i] = true;
        greets[i] = false;
        if (!l.refused_at) l.refused_at = links_.now();
      }
    }
    return l.until;
  };
  links_.wait([] { return "the pservers, to leave the job"; }, greeted, check);
}

}  // namespace paddle
