#include "trainer/ps_client.h"

#include <unistd.h>

#include <algorithm>

#include "base/log.h"
#include "base/random.h"
#include "trainer/ps_values.h"
#include "trainer/tcp_links.h"

namespace paddle {
namespace {

constexpr int max_recoveries = 100;  // without a step between them
// Trainer 0, where others wait to hear that it has saved: as long as a pserver may need to return.
constexpr double bye_seconds = 60, bye_seconds_alone = 5;

// A new incarnation, unless the caller gave one: shards tell this process from one that had the
// same id before.
wire::Hello with_incarnation(wire::Hello hello) {
  if (hello.incarnation != 0) return hello;
  const RandomStream random(static_cast<uint64_t>(Clock::now().time_since_epoch().count()),
                            static_cast<uint64_t>(::getpid()));
  hello.incarnation = random.bits(0) | 1;
  return hello;
}

ExchangeOptions exchange_options(const PsOptions& o, const Cut& cut) {
  const bool adds = o.hello.mode == wire::Mode::async || o.hello.mode == wire::Mode::geo;
  for (const SliceSpec& s : cut.slices)
    require(!adds || s.dtype == DType::f32, Error::Kind::config,
            "async and geo need float32 parameters, but '", s.param, "' is ", name_of(s.dtype));
  return {.mode = o.hello.mode,
          .trainers = o.hello.trainers,
          .queue_size = o.queue_size,
          .merge_mean = o.merge_mean,
          .geo_steps = o.geo_steps};
}

}  // namespace

PsClient::PsClient(const Cut& cut, Scope& scope, const PsOptions& options,
                   std::function<void()> first_values)
    : PsClient(cut, scope, options, std::move(first_values),
               std::make_unique<TcpLinks>(options.shards, options.credentials, options.peer_timeout,
                                          options.spin_microseconds)) {}

PsClient::PsClient(const Cut& cut, Scope& scope, const PsOptions& options,
                   std::function<void()> first_values, std::unique_ptr<Links> links)
    : cut_(cut),
      scope_(scope),
      options_(options),
      layout_(cut),
      links_(std::move(links)),
      exchange_(make_exchange(layout_, exchange_options(options, cut), *links_)),
      driver_({.cut = cut,
               .scope = scope,
               .layout = layout_,
               .links = *links_,
               .exchange = *exchange_,
               .first_values =
                   [this, first = std::move(first_values)] {
                     first();
                     locate();
                   }},
              with_incarnation(options.hello), options.peer_timeout),
      streams_(exchange_->manner() == ParamExchange::Manner::streams) {
  links_->deliver_to(*exchange_);
}

// ---- joining

void PsClient::locate() {
  std::vector<std::byte*> params;
  for (const ParamGrad& p : cut_.params)
    params.push_back(static_cast<std::byte*>(scope_.tensor(p.param).raw()));
  exchange_->locate(params);
}

Rewind PsClient::join(uint64_t first_step) {
  first_step_ = first_step;
  locate();
  init_ = digest_of_values(cut_, scope_);
  return rejoin();
}

Rewind PsClient::rejoin() {
  finished_ = false;
  const JoinDecision& d = driver_.run(init_, first_step_, at_end_);
  if (d.action == JoinDecision::Action::over) return {.why = "the job has ended", .over = true};
  range_.step = d.step;
  // What this process pushes before its first step, or instead of one, belongs there.
  if (!next_place_) range_.begin = range_.end = d.place.value_or(wire::Position{});
  report_lost();
  const bool place_lost = options_.hello.mode != wire::Mode::sync && !next_place_ &&
                          (d.unknown_steps || (!d.place && d.step != first_step_));
  if (place_lost)
    log_warn(
        "a pserver came back empty and no longer knows how far this trainer was: it goes on "
        "with what the others know, or from the beginning, and may apply gradients again");
  return {d.step, d.place, "", place_lost};
}

// Where everybody goes on although something is missing.
void PsClient::report_lost() {
  uint64_t most = 0;
  size_t at = 0;
  for (size_t i = 0; i < exchange_->lost().size(); ++i)
    if (exchange_->lost()[i] > most) {
      most = exchange_->lost()[i];
      at = i;
    }
  if (most <= reported_lost_) return;
  log_warn(text("up to ", most - reported_lost_, " updates of '", layout_.names[at],
                "' were lost with pserver ", (*links_)[layout_.slices[at].shard].endpoint(),
                ": they came after its last snapshot (--snapshot_dir, --snapshot_period); ", most,
                " since this trainer began"));
  reported_lost_ = most;
}

void PsClient::recover(const Disrupted& broken) {
  require(++recoveries_ <= max_recoveries, Error::Kind::peer, "gave up after ", max_recoveries,
          " recoveries in step ", range_.step, ": ", broken.why);
  log_warn(text(broken.why, "; waiting for it to return"));

  Rewind to = rejoin();
  if (to.over) throw to;
  const bool repeats =
      exchange_->manner() == ParamExchange::Manner::repeats_steps && driver_.decision().knows_step;
  for (const StepRange& r : begun_)
    if (!to.place && r.step == to.step) to.place = r.begin;
  if (next_place_ && !(repeats && (to.place || to.step == first_step_))) {
    if (options_.hello.mode != wire::Mode::sync) to.step = next_step_;  // rounds have their own
    to.place = next_place_;
  }
  exchange_->goes_on(to.step);
  report_lost();
  to.why = broken.why;
  log_info(text("all pservers are back: going on with step ", to.step));
  throw to;
}

// What breaks in `body` is mended, and ends in Rewind.
template <class Body>
void PsClient::guarded(const Body& body) {
  try {
    body();
  } catch (const Disrupted& broken) {
    recover(broken);
  }
}

// For the values of slices.
template <class Done>
void PsClient::wait(const Done& done) {
  links_->wait([&] { return awaited_text(*exchange_, layout_, *links_, range_.step); }, done,
               [&] { return check(); });
}

// Whoever had finished, and went back to work for a pserver that was lost, stops when trainer 0 has
// saved meanwhile: the others may have left.
Time PsClient::check() {
  driver_.check();
  if (had_finished_ && trainer() != 0 && links_->news().saved)
    throw Rewind{.why = "the job has ended", .over = true};
  return Time::max();
}

// ---- a step

void PsClient::begin_step(uint64_t step, const wire::Position& begin, const wire::Position& end) {
  range_ = {step, begin, end};
  begun_ = {range_, begun_[0]};
  at_end_ = false;
  next_step_ = step;
  next_place_ = begin;
  exchange_->begin_step(range_);
  if (!streams_) return;
  guarded([&] {
    links_->poll();  // whatever has come is used from here on
    driver_.check();
    wait([&] { return exchange_->may_begin(); });
  });
}

// Where nothing is waited for, the connections are served while a step is computed: else an
// exchange would last several steps. What breaks there is mended when the next step begins.
void PsClient::push(int32_t param, const View& grad, uint64_t) {
  if (!exchange_->may_push()) guarded([&] { wait([&] { return exchange_->may_push(); }); });
  exchange_->push(param, static_cast<const std::byte*>(grad.data));
  if (streams_) links_->poll_sometimes();
}

void PsClient::pull(int32_t param, const View&, uint64_t) {
  if (streams_) return links_->poll_sometimes();
  if (exchange_->may_read(param)) return;
  guarded([&] { wait([&] { return exchange_->may_read(param); }); });
}

void PsClient::end_step() {
  recoveries_ = 0;
  next_step_ = range_.step + 1;
  next_place_ = range_.end;
  const bool exchanges = exchange_->end_step();
  links_->flush();
  if (exchanges) guarded([&] { wait([&] { return exchange_->none_awaited(); }); });
}

// ---- outside steps

void PsClient::refresh(uint64_t step) {
  guarded([&] { wait([&] { return exchange_->settled(step); }); });
}

std::optional<uint64_t> PsClient::collect() {
  std::optional<uint64_t> step;
  // Geo: the optimizer's state is here, and so are the values that training goes on with. Those of
  // the shards are the result once this trainer has finished.
  if (options_.hello.mode == wire::Mode::geo) {
    if (!finished_) return {};
    guarded([&] {
      exchange_->pull_all();
      wait([&] { return exchange_->none_awaited(); });
    });
    return {};
  }
  guarded([&] {
    step = collect_values(*links_, cut_, scope_, [&](const auto& what, const auto& done) {
      links_->wait(what, done, [&] { return check(); });
    });
  });
  return step;
}

void PsClient::finish(uint64_t step) {
  at_end_ = true;
  guarded([&] {
    range_ = {step, range_.end, range_.end};
    if (exchange_->finish(range_)) wait([&] { return exchange_->none_awaited(); });
    refresh(step);
    std::vector<bool> done(links_->size());
    complete(wire::Phase::finished, "to hear that this trainer has finished", done);
    finished_ = had_finished_ = true;
  });
}

// Shards answer this by themselves: one that lives and waits for nobody, but does not answer, is
// given up after peer_timeout.
void PsClient::complete(wire::Phase phase, const std::string& what, std::vector<bool>& done) {
  std::vector<uint64_t> ids(links_->size());
  for (size_t i = 0; i < ids.size(); ++i) {
    if (done[i]) continue;
    ids[i] = (*links_)[i].expect_ack();
    // One that is not connected lacks it.
    links_->request(i, ids[i], wire::Complete{phase, driver_.epoch()});
  }
  for (size_t i = 0; i < ids.size(); ++i)
    if (!done[i]) links_->require_open(i);
  const auto missing = [&]() -> const LinkState* {
    for (size_t i = 0; i < ids.size(); ++i) {
      done[i] = done[i] || (*links_)[i].acked(ids[i]);
      if (!done[i]) return &(*links_)[i];
    }
    return nullptr;
  };
  const auto waiting = [&] {
    const LinkState* link = missing();
    return link ? text("pserver ", link->endpoint(), " ", what) : "nothing";
  };
  const Time start = links_->now();
  links_->wait(
      waiting, [&] { return missing() == nullptr; },
      [&] {
        for (size_t i = 0; i < done.size(); ++i)
          if (!done[i]) driver_.check(i);
        const double waited = seconds(start, links_->now());
        if (waited > options_.peer_timeout && missing() && links_->news().waiting.empty())
          throw Error(Error::Kind::peer, "gave up waiting for ", waiting(), " (",
                      static_cast<int>(waited), " s; --peer_timeout sets how long)");
        return Time::max();
      });
}

// What the shards say of this epoch counts; what they said of the one before does not.
void PsClient::wait_for_news(const std::string& what,
                             bool (*enough)(const ShardNews&, uint32_t trainers)) {
  const auto done = [&] {
    const ShardNews news = links_->news();
    require(news.failure.empty(), Error::Kind::peer, "the job ended: ", news.failure);
    return news.epoch == driver_.epoch() && enough(news, options_.hello.trainers);
  };
  try {
    links_->wait([&] { return text(what, "; ", links_->news().waiting); }, done,
                 [&] { return done() ? Time::max() : check(); });
  } catch (const Disrupted&) {  // a pserver that fails afterwards concerns nobody any more
    if (!done()) throw;
  }
}

void PsClient::wait_for_others() {
  guarded([&] {
    wait_for_news("the other trainers to finish",
                  [](const ShardNews& news, uint32_t n) { return news.finished >= n; });
  });
}

void PsClient::wait_for_save() {
  if (trainer() == 0) return;
  guarded([&] {
    wait_for_news("trainer 0 to save", [](const ShardNews& news, uint32_t) { return news.saved; });
  });
}

// A pserver that has heard it from all may be gone already, which is no trouble. But the others
// wait for trainer 0 to leave and learn it from nobody else: it tries again where its connection
// broke.
void PsClient::say_bye() {
  const double tries = options_.hello.trainers > 1 ? bye_seconds : bye_seconds_alone;
  const Time until =
      links_->now() + std::chrono::duration_cast<Time::duration>(
                          std::chrono::duration<double>(std::min(tries, options_.peer_timeout)));
  std::vector<bool> done(links_->size());
  for (bool again = false;; again = true) {
    try {
      return complete(wire::Phase::bye, "to let this trainer go", done);
    } catch (const Disrupted&) {
    } catch (const Error&) {
      if (!again) throw;
    }
    if (trainer() != 0 || links_->now() >= until) return;
    greet_those_left(done, until);
  }
}

// Connects again to the shards that have not heard the end of this trainer. One that refuses it has
// heard it, and the job is over there; a greeting that is cut off is said again.
void PsClient::greet_those_left(std::vector<bool>& done, Time until) {
  std::vector<bool> greets(links_->size());
  for (size_t i = 0; i < greets.size(); ++i) {
    greets[i] = !done[i] && (!links_->open(i) || (*links_)[i].broken());
    if (greets[i]) links_->greet(i, driver_.hello());
  }
  const auto greeted = [&] {
    for (size_t i = 0; i < greets.size(); ++i)
      greets[i] = greets[i] && !(*links_)[i].take_welcome();
    return std::none_of(greets.begin(), greets.end(), [](bool g) { return g; }) ||
           links_->now() >= until;
  };
  const auto check = [&] {
    for (size_t i = 0; i < greets.size(); ++i) {
      if (!greets[i]) continue;
      try {
        driver_.check(i);
      } catch (const Disrupted&) {
        links_->greet(i, driver_.hello());
      } catch (const Error&) {
        done[i] = true;
        greets[i] = false;
      }
    }
    return until;
  };
  links_->wait([] { return "the pservers, to leave the job"; }, greeted, check);
}

void PsClient::send_final_error(const std::string& message) { links_->send_final_error(message); }

}  // namespace paddle
