// Joining by plain calls with a given time: no socket, no thread.
#include "trainer/joining.h"

#include <catch2/catch.hpp>

#include "base/error.h"

using namespace paddle;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace joining_test {
namespace {

using Kind = JoinAction::Kind;
using Kinds = std::vector<Kind>;

struct Joiner {
  explicit Joiner(wire::Hello hello = {.trainer = 1, .trainers = 2, .incarnation = 77})
      : joining({.shards = {"a:1", "b:2"}, .holds = {true, true}, .slices = 3, .peer_timeout = 60},
                hello) {
    joining.start("values", 0, false, now);
  }

  // What is to do, but for what is logged.
  Kinds kinds() {
    Kinds out;
    last = joining.take_actions();
    for (const JoinAction& a : last)
      if (a.kind != Kind::warn) out.push_back(a.kind);
    return out;
  }
  void pass(double seconds) {
    now += std::chrono::milliseconds(static_cast<int>(seconds * 1000));
    joining.tick(now);
  }
  // It takes part, and has to greet all shards again.
  void join_and_begin_again() {
    welcome(0, ready(0, 0));
    welcome(1, ready(1, 0));
    for (const size_t i : {0u, 1u}) joining.acked(i, now);
    joining.values_arrived(now);
    joining.start("values", 0, false, now);
    kinds();
  }
  void welcome(size_t shard, const wire::Welcome& w) { joining.welcome(shard, w, now); }
  wire::Welcome ready(uint32_t slice, uint64_t version) const {
    return {.state = wire::ShardState::ready,
            .values_digest = "values",
            .slices = {{.slice = slice, .version = version}}};
  }

  Time now = Time() + std::chrono::hours(1);
  Joining joining;
  std::vector<JoinAction> last;
};

}  // namespace

TEST_CASE("joining: from greeting to the values", "[trainer]") {
  Joiner j;
  CHECK(j.kinds() == Kinds{Kind::greet, Kind::greet});
  SECTION("empty shards are configured one after the other, then greeted again") {
    j.welcome(1, {});
    CHECK(j.kinds().empty());
    CHECK_THAT(j.joining.waiting_for(), Contains("pserver a:1"));
    j.welcome(0, {});
    CHECK(j.kinds() == Kinds{Kind::beat, Kind::configure});
    CHECK(j.last.back().shard == 0);
    j.joining.acked(0, j.now);
    CHECK(j.kinds() == Kinds{Kind::configure});
    CHECK(j.last.back().shard == 1);
    CHECK_THAT(j.joining.waiting_for(), Contains("b:2 to take its first values"));
    j.joining.acked(1, j.now);
    CHECK(j.kinds() == Kinds{Kind::greet, Kind::greet});
    j.welcome(0, j.ready(0, 0));
    j.welcome(1, j.ready(1, 0));
    CHECK(j.kinds() == Kinds{Kind::join, Kind::join});
  }
  // Values of one shard may be in place of the first ones here when another shard breaks: what the
  // pservers are given must be the first ones all the same.
  SECTION("a trainer that has begun to read the shards' values puts back its first ones") {
    j.welcome(0, j.ready(0, 3));
    j.welcome(1, j.ready(1, 3));
    CHECK(j.kinds() == Kinds{Kind::beat, Kind::join, Kind::join});
    j.joining.acked(0, j.now);
    j.joining.acked(1, j.now);
    CHECK(j.kinds() == Kinds{Kind::exchange});
    j.joining.broken(1, "gone", j.now);
    CHECK(j.kinds() == Kinds{Kind::greet, Kind::greet});
    j.welcome(0, j.ready(0, 3));
    j.welcome(1, {});
    CHECK(j.kinds() == Kinds{Kind::first_values, Kind::configure});
  }
  // A request that fails must not take the greetings behind it with it: the shards that were still
  // connected would be waited for until the deadline.
  SECTION("requests that nobody has sent yet are void once a connection breaks") {
    j.welcome(0, j.ready(0, 4));
    j.welcome(1, j.ready(2, 4));
    j.joining.broken(1, "reset", j.now);
    CHECK(j.kinds() == Kinds{Kind::beat, Kind::greet, Kind::greet});
  }
  SECTION("ready shards are joined; the values are the last thing") {
    j.welcome(0, j.ready(0, 4));
    j.welcome(1, j.ready(2, 4));
    CHECK(j.kinds() == Kinds{Kind::beat, Kind::join, Kind::join});
    j.joining.acked(1, j.now);
    CHECK(j.kinds().empty());
    j.joining.acked(0, j.now);
    CHECK(j.kinds() == Kinds{Kind::exchange});
    CHECK(j.joining.slice_states()[2].version == 4);
    CHECK(j.joining.phase() == Joining::Phase::values);
    j.joining.values_arrived(j.now);
    CHECK(j.joining.phase() == Joining::Phase::done);
    CHECK(j.joining.decision().step == 4);
    // A second time nothing has to be told to the heartbeat.
    j.joining.start("values", 0, false, j.now);
    j.kinds();
    j.welcome(0, j.ready(0, 4));
    j.welcome(1, j.ready(2, 4));
    CHECK(j.kinds() == Kinds{Kind::join, Kind::join});
  }
  SECTION("what another trainer configures is waited for, and asked about again") {
    j.welcome(0, {.state = wire::ShardState::configuring, .configured_by = "host:7"});
    j.welcome(1, {});
    CHECK(j.kinds() == Kinds{Kind::beat});
    CHECK_THAT(j.last.back().text, Contains("host:7"));
    CHECK(j.joining.wake_at() > j.now);
    CHECK_THAT(j.joining.waiting_for(), StartsWith("the next try to join: ") && Contains("host:7"));
    j.pass(0.01);
    CHECK(j.kinds().empty());
    j.pass(0.2);
    CHECK(j.kinds() == Kinds{Kind::greet, Kind::greet});
  }
  SECTION("but not for ever") {
    const wire::Welcome busy{.state = wire::ShardState::configuring, .configured_by = "host:7"};
    j.welcome(0, busy);
    j.welcome(1, {});
    j.pass(61);
    j.welcome(0, busy);
    CHECK_THROWS_WITH(j.welcome(1, {}), Contains("gave up after 61 s") && Contains("host:7"));
  }
}

TEST_CASE("joining: an id from the first shard", "[trainer]") {
  Joiner j({.trainers = 2, .incarnation = 77, .takes_id = true});
  CHECK(j.kinds() == Kinds{Kind::hang_up, Kind::greet});
  CHECK(j.last.back().shard == 0);
  j.welcome(0, {.trainer = 1});
  CHECK(j.joining.hello().trainer == 1);
  CHECK_FALSE(j.joining.hello().takes_id);
  CHECK(j.kinds() == Kinds{Kind::greet, Kind::greet});
  SECTION("that another trainer has got meanwhile: it asks for another one") {
    j.joining.failed(1, {wire::FailureCode::refused, "trainer 1 is there already"}, j.now);
    CHECK(j.joining.hello().takes_id);
    CHECK(j.kinds() == Kinds{Kind::stop_beat, Kind::hang_up, Kind::greet});
  }
  SECTION("once it has joined, a refusal is final") {
    j.welcome(0, j.ready(0, 0));
    j.welcome(1, j.ready(1, 0));
    for (const size_t i : {0u, 1u}) j.joining.acked(i, j.now);
    j.joining.values_arrived(j.now);
    j.joining.start("values", 0, false, j.now);
    CHECK_THROWS_WITH(j.joining.failed(1, {wire::FailureCode::refused, "no room"}, j.now),
                      Contains("pserver b:2 refused: no room"));
  }
}

TEST_CASE("joining: what goes wrong", "[trainer]") {
  Joiner j;
  j.kinds();
  SECTION("a shard that cannot be reached is named in the end") {
    j.joining.answers().set_error(0, "connection refused");
    j.pass(30);
    CHECK_THROWS_WITH(j.pass(31), Contains("gave up waiting for pserver a:1: connection refused") &&
                                      Contains("--peer_timeout"));
  }
  SECTION("a connection that breaks while others are missing is made again") {
    j.welcome(1, j.ready(1, 0));
    j.joining.broken(1, "reset", j.now);
    CHECK(j.kinds() == Kinds{Kind::greet});
    CHECK(j.last.back().shard == 1);
    j.welcome(0, j.ready(0, 0));
    CHECK(j.kinds().empty());  // the other one is missing again
  }
  SECTION("a connection that breaks later begins everything anew, ever more slowly") {
    for (int i = 0; i < 5; ++i) {
      j.welcome(0, j.ready(0, 0));
      j.welcome(1, j.ready(1, 0));
      j.kinds();
      j.joining.broken(0, "reset", j.now);
      CHECK(j.kinds() == Kinds{Kind::greet, Kind::greet});
    }
    j.welcome(0, j.ready(0, 0));
    j.welcome(1, j.ready(1, 0));
    j.kinds();
    j.joining.broken(0, "reset", j.now);
    CHECK(j.kinds().empty());
    CHECK(j.joining.waiting_for() == "the next try to join: pserver a:1: reset");
    j.pass(0.05);
    CHECK(j.kinds() == Kinds{Kind::greet, Kind::greet});
    // What the pause is for is the last error, not the first.
    j.welcome(0, j.ready(0, 0));
    j.welcome(1, j.ready(1, 0));
    j.kinds();
    j.joining.failed(1, {wire::FailureCode::stopping, "it is stopping"}, j.now);
    CHECK(j.joining.waiting_for() == "the next try to join: pserver b:2: it is stopping");
  }
  SECTION("where its lease has ended it joins as the next renewal, and the heartbeat with it") {
    j.welcome(0, j.ready(0, 0));
    j.welcome(1, j.ready(1, 0));
    j.kinds();
    j.joining.failed(1, {wire::FailureCode::expired, "lease"}, j.now);
    CHECK(j.joining.hello().incarnation == 77);
    CHECK(j.joining.hello().renewal == 1);
    j.kinds();
    j.welcome(0, j.ready(0, 0));
    j.welcome(1, j.ready(1, 0));
    CHECK(j.kinds() == Kinds{Kind::beat, Kind::join, Kind::join});
  }
  SECTION("a trainer that was dropped aims further ahead each time it is too late") {
    std::vector<uint64_t> steps;
    for (int i = 0; i < 3; ++i) {
      wire::Welcome lost = j.ready(0, 10);
      lost.lost = true;
      j.welcome(0, lost);
      j.welcome(1, j.ready(1, 10));
      steps.push_back(j.joining.decision().step);
      j.joining.failed(1, {wire::FailureCode::unknown_version, "too late"}, j.now);
      j.kinds();
    }
    CHECK(steps == std::vector<uint64_t>{10, 11, 13});
    SECTION("but not where the job has gone back meanwhile") {
      for (size_t shard : {0, 1}) {
        wire::Welcome again = j.ready(static_cast<uint32_t>(shard), 0);
        again.epoch = 1;
        j.welcome(shard, again);
      }
      CHECK(j.joining.decision().step == 0);
    }
  }
  SECTION("the end of the job ends it") {
    CHECK_THROWS_WITH(j.joining.failed(0, {wire::FailureCode::job_failed, "trainer 2 died"}, j.now),
                      Contains("the job ended: trainer 2 died"));
  }
  SECTION("where one shard knows the result, no other one is waited for") {
    wire::Welcome over = j.ready(1, 9);
    over.trainer = 1;
    SECTION("once trainer 0 has reported it") {
      over.result = true;
      j.welcome(1, over);
      CHECK(j.joining.phase() == Joining::Phase::done);
      CHECK(j.joining.decision().action == JoinDecision::Action::over);
      j.pass(100);
    }
    SECTION("but a model that is only saved may still be for nothing") {
      over.saved = true;
      j.welcome(1, over);
      CHECK(j.joining.phase() == Joining::Phase::greet);
    }
  }
  SECTION("a shard that does not let it join is named") {
    j.welcome(0, j.ready(0, 0));
    j.welcome(1, j.ready(1, 0));
    j.joining.acked(0, j.now);
    CHECK_THROWS_WITH(j.pass(61), Contains("pserver b:2 to let this trainer join"));
  }
}

TEST_CASE("joining: another process has the id", "[trainer]") {
  using Code = wire::FailureCode;
  Joiner j;
  j.kinds();
  SECTION("which may be gone: it greets that shard again, and says so once") {
    const std::string why = "trainer 1 is host:7, silent for 3 s; this trainer joins in 7 s";
    j.welcome(0, j.ready(0, 0));
    for (int i = 0; i < 3; ++i) {
      j.joining.failed(1, {Code::wait, why}, j.now);
      CHECK(j.kinds() == Kinds{Kind::greet});
      CHECK(j.last.back().shard == 1);
      CHECK(j.last.size() == (i == 0 ? 2 : 1));
      j.pass(1);
    }
    CHECK_THAT(j.joining.waiting_for(), Contains(why));
    j.welcome(1, j.ready(1, 0));
    CHECK(j.kinds() == Kinds{Kind::beat, Kind::join, Kind::join});
  }
  SECTION("but not for ever") {
    j.joining.failed(1, {Code::wait, "trainer 1 is host:7"}, j.now);
    j.welcome(0, j.ready(0, 0));
    CHECK_THROWS_WITH(j.pass(61), Contains("pserver b:2: trainer 1 is host:7"));
  }
  SECTION("which is alive: it gives up") {
    CHECK_THROWS_WITH(j.joining.failed(1, {Code::id_taken, "trainer 1 is host:7"}, j.now),
                      Contains("pserver b:2 refused: trainer 1 is host:7"));
  }
  SECTION("while it was cut off: the other one is the wrong one until the contrary is clear") {
    j.join_and_begin_again();
    j.joining.failed(1, {Code::id_taken, "trainer 1 is host:7"}, j.now);
    CHECK(j.kinds() == Kinds{Kind::greet});
    j.pass(9);
    j.joining.failed(1, {Code::id_taken, "trainer 1 is host:7"}, j.now);
    CHECK(j.kinds() == Kinds{Kind::greet});
    j.pass(2);
    CHECK_THROWS_WITH(j.joining.failed(1, {Code::id_taken, "trainer 1 is host:7"}, j.now),
                      Contains("pserver b:2 refused: trainer 1 is host:7"));
  }
}

TEST_CASE("joining: the job goes back", "[trainer]") {
  Joiner j;
  j.kinds();
  j.join_and_begin_again();
  SECTION("to its beginning: with the values that it began with") {
    j.welcome(0, j.ready(0, 9));
    j.welcome(1, {});
    CHECK(j.kinds() == Kinds{Kind::first_values, Kind::configure});
    CHECK(j.joining.decision().reset);
  }
  SECTION("to a snapshot: all shards at once") {
    for (const uint32_t i : {0u, 1u}) {
      wire::Welcome w = j.ready(i, i == 0 ? 9 : 4);
      w.snapshots = {4};
      j.welcome(i, w);
    }
    CHECK(j.kinds() == Kinds{Kind::rollback, Kind::rollback});
    for (const size_t i : {0u, 1u}) j.joining.acked(i, j.now);
    CHECK(j.kinds() == Kinds{Kind::greet, Kind::greet});
  }
}

}  // namespace joining_test
