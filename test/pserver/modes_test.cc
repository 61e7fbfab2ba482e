// Updates on arrival, trainers that are lost, and the end of a job.
#include <atomic>
#include <catch2/catch.hpp>

#include "base/log.h"
#include "pserver/client.h"
#include "support/quiet_log.h"

using namespace paddle;
using Catch::Contains;
using Code = wire::FailureCode;
using Body = AnswerType;

namespace {

const std::vector<float> ones(5, 1.0f);

// Two trainers that have joined.
struct TwoJoined {
  RunningShard shard;
  Client a{shard.port()}, b{shard.port()};
  Answer welcome_a, welcome_b;

  explicit TwoJoined(ShardOptions options, wire::Mode mode = wire::Mode::sync)
      : shard(std::move(options)) {
    a.greet({.trainer = 0, .mode = mode});
    b.greet({.trainer = 1, .mode = mode});
    a.provide(small_job({.sizes = {5}, .trainers = 2, .rate = 1}));
    REQUIRE(a.join().type == Body::Ack);
    REQUIRE(b.join().type == Body::Ack);
  }
};

}  // namespace

TEST_CASE("async applies on arrival, once", "[pserver]") {
  const QuietLog quiet;
  const wire::Mode mode = GENERATE(wire::Mode::async, wire::Mode::half_async, wire::Mode::geo);
  const float sign = mode == wire::Mode::geo ? 1.0f : -1.0f;
  TwoJoined two({}, mode);
  const Answer first = two.a.await(two.a.push(10, 0, ones));
  CHECK(first.version == 1);
  CHECK(first.values()[2] == first_value(0, 2) + sign);
  const Answer second = two.b.await(two.b.push(10, 0, ones));
  CHECK(second.version == 2);
  CHECK(second.values()[2] == first_value(0, 2) + sign + sign);
  const Answer again = two.b.await(two.b.push(10, 0, ones));  // repeated
  CHECK(again.version == 2);
  CHECK((again.values() == second.values()));
  CHECK(two.a.await(two.a.push(10, 4, ones, {.based_on = 2})).version == 3);
  CHECK(two.a.await(two.a.push(10, 5, ones, {.based_on = 9})).failed(Code::stale_epoch));
  CHECK(two.a.await(two.a.pull(10, 0)).version == 3);
  auto bad = ones;
  bad[0] = INFINITY;
  CHECK(two.b.await(two.b.push(10, 1, bad)).failed(Code::not_finite));
  const uint64_t waits = two.a.pull(10, 4);
  CHECK(two.b.await(two.b.push(10, 1, ones, {.based_on = 3})).version == 4);
  CHECK(two.a.await(waits).version == 4);

  two.a.connection().close("killed");
  Answer w;
  for (uint64_t i = 0; i < 100 && w.type != Body::Welcome; ++i) {
    Client next(two.shard.port());
    w = next.greet({.trainer = 0, .incarnation = 90 + i, .mode = mode});
  }
  CHECK(w.last_steps == std::vector<uint64_t>{5});
}

// Merged gradients of one slice may come behind a newer one of another slice, or of rows.
TEST_CASE("async: a trainer goes on behind its newest step, whichever came last", "[pserver]") {
  const QuietLog quiet;
  RunningShard shard;
  Client a(shard.port());
  a.greet({.trainer = 0, .mode = wire::Mode::async});
  a.provide(small_job({.sizes = {5, 5}, .trainers = 2, .rate = 1}));
  REQUIRE(a.join().type == Body::Ack);
  CHECK(a.await(a.push(11, 3, ones)).version == 1);
  CHECK(a.await(a.push(10, 2, ones)).version == 1);
  a.connection().close("killed");
  Answer w;
  for (uint64_t i = 0; i < 100 && w.type != Body::Welcome; ++i) {
    Client next(shard.port());
    w = next.greet({.trainer = 0, .incarnation = 90 + i, .mode = wire::Mode::async});
  }
  CHECK(w.last_steps == std::vector<uint64_t>{3, 4});
  CHECK(w.place_step == 3);
  CHECK(w.record == 40);
}

TEST_CASE("async gradients that are too old are dropped and counted", "[pserver]") {
  const QuietLog quiet;
  ShardOptions options;
  SECTION("by max_staleness") { options.stale.max_staleness = 2; }
  SECTION("by the ratio of v2") { options.stale.discard_ratio = 0.5; }  // as 1.5: 3 of 2 trainers
  const bool by_ratio = options.stale.discard_ratio > 0;
  TwoJoined two(options, wire::Mode::async);
  uint64_t step = 0;
  const auto push = [&](uint64_t based_on) {
    return two.a.await(two.a.push(10, step++, ones, {.based_on = based_on}));
  };
  CHECK(!push(0).dropped);
  CHECK(!push(0).dropped);  // one behind
  const Answer third = push(0);
  CHECK(third.dropped == by_ratio);
  CHECK(third.version == (by_ratio ? 2 : 3));
  const Answer fourth = push(0);
  CHECK(fourth.dropped);
  CHECK((fourth.values() == third.values()));
  CHECK(!push(third.version).dropped);
  const Answer s = two.a.status();
  CHECK(s.dropped_by == std::vector<uint64_t>{by_ratio ? 2u : 1u, 0});
  CHECK(s.staleness_by[0] == (by_ratio ? 2 : 3));
}

TEST_CASE("a lost trainer is dropped, waited for, or ends the job", "[pserver]") {
  const QuietLog quiet;
  ShardOptions options{.leases = {.lease_seconds = 60, .reconnect_seconds = 0}};
  SECTION("drop") {
    options.leases.policy = LossPolicy::drop;
    TwoJoined two(options);
    const uint64_t id = two.a.push(10, 0, ones);
    two.b.connection().close("killed");
    const Answer alone = two.a.await(id);
    CHECK(alone.version == 1);
    CHECK(alone.values()[1] == first_value(0, 1) - 1);
    CHECK(two.a.await(two.a.push(10, 1, ones)).version == 2);
    CHECK(two.a.status().members == std::vector<std::string>{"joined", "lost"});
    Client same(two.shard.port());
    CHECK(same.greet({.trainer = 1}).failed(Code::expired));
    Client back(two.shard.port());
    const Answer w = back.greet({.trainer = 1, .incarnation = 7});
    CHECK(w.lost);
    CHECK(back.join(1).failed(Code::stale_epoch));  // the job has gone on
    CHECK(back.join(4).type == Body::Ack);
    CHECK(back.await(back.pull(10, 5)).failed(Code::unknown_version));
    const uint64_t ahead = back.pull(10, 4);  // two ahead of the others
    if (GENERATE(true, false)) {              // who joined beyond the end of the job greets again
      CHECK(two.a.complete(wire::Phase::finished).type == Body::Ack);
      CHECK(back.await(ahead).failed(Code::stale_epoch));
      CHECK(back.await(back.pull(10, 4)).failed(Code::stale_epoch));
      CHECK(back.join(2).type == Body::Ack);
      CHECK(back.await(back.push(10, 2, ones)).version == 3);
      return;
    }
    CHECK(two.a.await(two.a.push(10, 2, ones)).version == 3);
    CHECK(two.a.await(two.a.push(10, 3, ones)).version == 4);
    CHECK(back.await(ahead).version == 4);
    const uint64_t open = two.a.push(10, 4, ones);
    CHECK(back.await(back.push(10, 4, ones)).version == 5);
    CHECK(two.a.await(open).version == 5);
  }
  SECTION("wait") {
    TwoJoined two(options);
    const uint64_t id = two.a.push(10, 0, ones);
    two.b.connection().close("killed");
    CHECK(two.a.until([&] {
      return two.a.status().members == std::vector<std::string>{"joined", "lost"};
    }));
    CHECK(!two.a.answered(id));
    CHECK_THAT(two.a.status().text, Contains("waiting for trainer 1 of 2: lost, host:1001"));
    Client back(two.shard.port());
    CHECK(back.greet({.trainer = 1, .incarnation = 7}).type == Body::Welcome);
    CHECK(back.join(0).type == Body::Ack);
    CHECK(back.await(back.push(10, 0, ones)).version == 1);
    CHECK(two.a.await(id).version == 1);
  }
  SECTION("fail") {
    options.leases.policy = LossPolicy::fail;
    TwoJoined two(options);
    const uint64_t id = two.a.push(10, 0, ones);
    two.b.connection().close("killed");
    const Answer a = two.a.await(id);
    CHECK(a.failed(Code::job_failed));
    CHECK_THAT(a.text, Contains("trainer 1 (host:1001) was lost"));
    CHECK(two.a.await(two.a.pull(10, 0)).failed(Code::job_failed));
  }
}

TEST_CASE("heartbeats keep a lease and carry news both ways", "[pserver]") {
  const QuietLog quiet;
  TwoJoined two({.leases = {.lease_seconds = 2}});
  Client beat(two.shard.port());
  REQUIRE(beat.greet({.trainer = 1, .role = wire::Role::beat}).type == Body::Welcome);
  two.a.push(10, 0, ones);
  CHECK_THAT(beat.beat().text,
             Contains("waiting for trainer 1 of 2: its gradient of step 0, host:1001"));
  // Trainer 0 says nothing more and is lost; trainer 1 beats and is not.
  CHECK(beat.until([&] {
    beat.beat("out of memory");
    Client look(two.shard.port());
    look.greet({.role = wire::Role::observer});
    return look.status().members == std::vector<std::string>{"lost", "joined"};
  }));
  CHECK(two.a.ended());
  Client look(two.shard.port());
  look.greet({.role = wire::Role::observer});
  const Answer s = look.status();
  CHECK_THAT(s.errors[0], Contains("trainer 1 (host:1001): out of memory"));
  CHECK_THAT(s.errors[1], Contains("trainer 0 (host:1000) was lost"));
  beat.pull(10, 0);
  CHECK(beat.ended());  // nothing but heartbeats
}

TEST_CASE("who stays hears at once that others have finished and trainer 0 has saved",
          "[pserver]") {
  const QuietLog quiet;
  TwoJoined two(ShardOptions{});
  Client beat(two.shard.port());
  REQUIRE(beat.greet({.trainer = 1, .role = wire::Role::beat}).type == Body::Welcome);
  CHECK(beat.beat().finished == 0);
  const auto hears = [&](uint32_t finished, bool saved) {  // without another beat
    return beat.until([&] {
      const Answer& unasked = beat.last(0);
      return unasked.finished == finished && unasked.saved == saved;
    });
  };
  CHECK(two.b.complete(wire::Phase::finished).type == Body::Ack);
  CHECK(hears(1, false));
  CHECK(two.a.complete(wire::Phase::finished).type == Body::Ack);
  CHECK(hears(2, false));
  CHECK(two.a.complete(wire::Phase::bye).type == Body::Ack);
  CHECK(hears(2, true));
}

TEST_CASE("trainers with fewer batches leave the rounds", "[pserver]") {
  const QuietLog quiet;
  std::atomic<int> done = 0;
  TwoJoined two({.exit_when_done = true, .calls = {.on_done = [&] { ++done; }}});
  const uint64_t id = two.a.push(10, 0, ones);
  CHECK(two.b.complete(wire::Phase::finished).type == Body::Ack);
  CHECK(two.a.await(id).version == 1);
  CHECK(two.a.await(two.a.push(10, 1, ones)).version == 2);
  CHECK(two.a.complete(wire::Phase::finished).type == Body::Ack);
  CHECK(two.a.await(two.a.fetch("w_0", 0, 20)).bulk.size() == 20);
  CHECK(two.b.complete(wire::Phase::bye).type == Body::Ack);
  CHECK(done == 0);
  CHECK(two.a.complete(wire::Phase::bye).type == Body::Ack);
  CHECK(two.a.until([&] { return done == 1; }));
}

TEST_CASE("the next job may follow", "[pserver]") {
  const QuietLog quiet;
  TwoJoined two({});
  two.a.complete(wire::Phase::bye);
  CHECK(two.b.complete(wire::Phase::bye).type == Body::Ack);
  CHECK(two.a.ended());  // nobody of the old job stays
  CHECK(two.b.ended());
  Client next(two.shard.port());
  const Answer w = next.greet({.trainers = 1, .job = "next"});
  CHECK(w.state == wire::ShardState::empty);
  CHECK(w.epoch == 0);
  CHECK(next.provide(small_job({.sizes = {9}})).type == Body::Ack);
  CHECK(next.join().type == Body::Ack);
}

TEST_CASE("a pserver that stops tells its peers", "[pserver]") {
  const QuietLog quiet;
  TwoJoined two({});
  const uint64_t id = two.a.push(10, 0, ones);
  two.shard.stop();
  CHECK(two.a.ended());
  CHECK(!two.a.answered(id));
  CHECK(two.a.await(0).failed(Code::stopping));
}

TEST_CASE("all go back to the first values", "[pserver]") {
  const QuietLog quiet;
  TwoJoined two({});
  two.a.push(10, 0, ones);
  CHECK(two.b.await(two.b.push(10, 0, ones)).version == 1);
  const uint64_t open = two.b.push(10, 1, ones);
  const SmallJob job = small_job({.sizes = {5}, .trainers = 2, .rate = 1});
  CHECK(two.a.provide(job, 0, 0, true).failed(Code::stale_epoch));
  CHECK(two.a.await(two.a.rollback(1, 0)).failed(Code::unknown_version));
  Client a(two.shard.port());  // the first connection is no longer of use after a refusal
  CHECK(a.greet({.trainer = 0}).epoch == 0);
  CHECK(a.provide(job, 1, 0, true).type == Body::Ack);
  CHECK(two.b.await(open).failed(Code::stale_epoch));
  CHECK(two.b.await(two.b.push(10, 1, ones)).failed(Code::stale_epoch));
  CHECK(a.join(0, 1).type == Body::Ack);
  CHECK(two.b.join(0, 1).type == Body::Ack);
  const uint64_t id = a.push(10, 0, ones, {.epoch = 1});
  CHECK(two.b.await(two.b.push(10, 0, ones, {.epoch = 1})).version == 1);
  CHECK(a.await(id).values()[0] == first_value(0, 0) - 1);
}

TEST_CASE("peer_timeout ends waits for trainers that are gone, not for slow ones", "[pserver]") {
  const QuietLog quiet;
  // The sweep looks once a second: four seconds are several looks past the timeout.
  ShardOptions options{.leases = {.lease_seconds = 60, .reconnect_seconds = 0}, .peer_timeout = 1};
  TwoJoined two(options);
  SECTION("a slow one may take its time, and so may many steps together") {
    const uint64_t id = two.a.push(10, 0, ones);
    CHECK_FALSE(two.a.until([&] { return two.a.answered(id); }, 4));
    CHECK(two.b.await(two.b.push(10, 0, ones)).version == 1);
    CHECK(two.a.await(id).version == 1);
  }
  SECTION("one that is gone ends the job, by name") {
    const uint64_t id = two.a.push(10, 0, ones);
    two.b.connection().close("killed");
    const Answer end = two.a.await(id);
    CHECK(end.failed(Code::job_failed));
    CHECK_THAT(end.text, Contains("peer_timeout") && Contains("trainer 1"));
  }
}
