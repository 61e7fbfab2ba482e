#include "trainer/value_origins.h"

#include <catch2/catch.hpp>

#include "trainer/exchange_support.h"
#include "trainer/row_exchange.h"
#include "trainer/sent_updates.h"

using namespace paddle;

namespace value_origins_test {

using Origins = std::vector<wire::Origin>;

constexpr uint64_t unknown = wire::unknown_steps;

// A trainer with one slice on one shard.
struct Trainer {
  explicit Trainer(UpdateKind kind = {.repeat_steps = false}) : updates(layout, kind) {}

  // Joins a shard that knows `last` of its steps; the step that the shard takes next.
  // A shard's base is the lowest version of its slices; `ahead`: of this one.
  uint64_t join(const ShardValues& shard, uint64_t last, uint64_t step = 0, uint64_t ahead = 0) {
    const std::vector<wire::SliceState> there = {
        {.version = shard.base + ahead, .last_step = last}};
    if (last == unknown) step = std::max(step, updates.may_hold(0, shard));
    updates.joining(0, step, there, shard);
    updates.joined(step, there);
    return step;
  }
  void pull(uint64_t version) { updates.arrived({.version = version, .slice = 0}, false); }
  // Steps up to this one are applied, as one update.
  void push(uint64_t step, uint64_t version) {
    updates.pushed(0, step);
    updates.arrived({.version = version, .slice = 0}, true);
  }
  uint64_t lost() const { return updates.lost()[0]; }

  const Cut cut = test::cut_by_hand({1}, {0}, 1);
  const SliceLayout layout{cut};
  SentUpdates updates;
};

TEST_CASE("values of two branches have their newest common process in common", "[trainer]") {
  const Origins a{{1, 10}, {2, 12}, {3, 20}}, b{{1, 10}, {2, 15}, {4, 30}};
  CHECK(common_origins(a, b) == Origins{{1, 10}, {2, 12}});
  CHECK(common_origins(b, a) == Origins{{1, 10}, {2, 12}});
  CHECK(common_origins(a, a) == a);
  CHECK(common_origins(a, Origins{{5, 10}}).empty());
  CHECK(common_origins(a, {}).empty());
}

TEST_CASE("a trainer tells where its values are from", "[trainer]") {
  Trainer t;
  CHECK(t.updates.origins(0).empty());
  t.join({.instance = 1}, 0);
  CHECK(t.updates.origins(0).empty());
  t.pull(3);
  t.push(0, 4);
  CHECK(t.updates.origins(0) == Origins{{1, 4}});
  t.join({.instance = 2, .base = 2, .origins = {{1, 2}}}, unknown);
  CHECK(t.updates.origins(0) == Origins{{1, 4}});  // those of the new process have not come
  t.pull(5);
  CHECK(t.updates.origins(0) == Origins{{1, 2}, {2, 5}});
}

// Process 1 was lost; another trainer gave process 2 its values of version 3, and pushed there; 2
// was lost as well, and 3 got the values that 2 had at version 9.
TEST_CASE("what was lost with a pserver counts where another one was lost since", "[trainer]") {
  Trainer t;
  t.join({.instance = 1}, 0);
  for (uint64_t step = 0; step < 5; ++step) t.push(step, step + 1);
  REQUIRE(t.lost() == 0);
  const ShardValues third{.instance = 3, .base = 9, .origins = {{1, 3}, {2, 9}}};
  SECTION("without news of the second") {
    CHECK(t.join(third, unknown) == 5);
    CHECK(t.lost() == 2);
  }
  SECTION("with an update on its way") {
    t.updates.pushed(0, 5);
    CHECK(t.join(third, unknown) == 6);
    CHECK(t.lost() == 3);
  }
  SECTION("after the second was joined") {
    CHECK(t.join({.instance = 2, .base = 3, .origins = {{1, 3}}}, unknown) == 5);
    CHECK(t.lost() == 2);
    t.push(5, 8);
    t.push(6, 10);
    CHECK(t.join(third, unknown) == 7);
    CHECK(t.lost() == 3);
    CHECK(t.join(third, 7) == 0);  // again, as a connection was cut
    CHECK(t.lost() == 3);
  }
}

TEST_CASE("steps that are computed again are not lost", "[trainer]") {
  Trainer t({.repeat_steps = true});
  t.join({.instance = 1}, 0);
  for (uint64_t step = 0; step < 60; ++step) t.push(step, step + 1);
  t.join({.instance = 2, .base = 25, .origins = {{1, 25}}}, 25, 25);
  SECTION("from the step that the shard lacks") {
    t.updates.goes_on(25);
    CHECK(t.lost() == 0);
  }
  SECTION("but those before the one that the trainer goes on with are") {
    t.updates.goes_on(60);
    CHECK(t.lost() == 35);
  }
}

// The shard says that it has a step whose answer was lost; it is lost itself before its values
// come.
TEST_CASE("a step that a shard knew of is lost with it", "[trainer]") {
  Trainer t({.repeat_steps = true});
  t.join({.instance = 1}, 0);
  t.push(0, 1);
  t.updates.pushed(0, 1);
  t.join({.instance = 1}, 2, 2);
  CHECK(t.join({.instance = 2, .base = 1, .origins = {{1, 1}}}, unknown, 2) == 2);
  CHECK(t.lost() == 1);
}

// A snapshot of process 1 has a step whose answer was lost, and process 2, which has the snapshot,
// tells of it. When 2 is lost as well, another trainer brings values from before that step.
TEST_CASE("a step that only a snapshot knew of is lost with it", "[trainer]") {
  Trainer t({.repeat_steps = GENERATE(true, false)});
  t.join({.instance = 1}, 0);
  for (uint64_t step = 0; step < 2; ++step) t.push(step, 3 * step + 4);
  t.updates.pushed(0, 2);
  const uint64_t ahead = GENERATE(0, 3);
  t.join({.instance = 2, .base = 10 - ahead, .origins = {{1, 10 - ahead}}}, 3, 3, ahead);
  REQUIRE(t.lost() == 0);
  SECTION("where they are as old as those that this trainer saw") {
    t.join({.instance = 3, .base = 7, .origins = {{1, 7}}}, unknown, 3);
    CHECK(t.lost() == 1);
  }
  SECTION("but not where the snapshot was theirs too") {
    t.join({.instance = 3, .base = 10, .origins = {{1, 10}, {2, 10}}}, unknown, 3);
    CHECK(t.lost() == 0);
  }
}

// The version of a shard is the lowest of its slices: process 2 has the snapshot of step 3, in
// which this slice is at version 4 or later. When 2 is lost as well, another trainer brings its
// values.
TEST_CASE("a step is lost that a snapshot had behind its own version", "[trainer]") {
  Trainer t({.repeat_steps = GENERATE(true, false)});
  t.join({.instance = 1}, 0);
  for (uint64_t step = 0; step < 2; ++step) t.push(step, 2 * step + 2);
  const uint64_t ahead = GENERATE(1, 6);  // others may have pushed there meanwhile
  t.join({.instance = 2, .base = 3, .origins = {{1, 3}}}, 2, 2, ahead);
  REQUIRE(t.lost() == 0);
  SECTION("where they are of its version") {
    t.join({.instance = 3, .base = 3, .origins = {{1, 3}}}, unknown, 2);
    CHECK(t.lost() == 1);
  }
  SECTION("also after the snapshot was used a second time") {
    t.join({.instance = 4, .base = 3, .origins = {{1, 3}}}, 2, 2, ahead);
    REQUIRE(t.lost() == 0);
    t.join({.instance = 3, .base = 3, .origins = {{1, 3}}}, unknown, 2);
    CHECK(t.lost() == 1);
  }
  SECTION("where they are older") {
    t.join({.instance = 3, .base = 1, .origins = {{1, 1}}}, unknown, 2);
    CHECK(t.lost() == 2);
  }
  SECTION("but not where they are as new as the slice") {
    t.join({.instance = 3, .base = 4, .origins = {{1, 4}}}, unknown, 2);
    CHECK(t.lost() == 0);
  }
  SECTION("but not where they are from the process that had the snapshot") {
    t.join({.instance = 3, .base = 5, .origins = {{1, 3}, {2, 5}}}, unknown, 2);
    CHECK(t.lost() == 0);
  }
  // It does not know whether the snapshot had a gradient of somebody else.
  SECTION("and others are given the version of the snapshot") {
    t.pull(9);
    CHECK(t.updates.origins(0) == Origins{{1, 3}, {2, 9}});
  }
}

// The trainer has pushed to process 2; 3 gets values that another trainer has of process 1.
TEST_CASE("what a trainer pushed is lost where nobody had the values", "[trainer]") {
  Trainer t({.repeat_steps = true});
  t.join({.instance = 1}, 0);
  for (uint64_t step = 0; step < 60; ++step) t.push(step, step + 1);
  SECTION("and is not taken twice where it is computed again") {
    // Process 2 has a snapshot with 25 of its steps.
    t.join({.instance = 2, .base = 25, .origins = {{1, 25}}}, 25, 25);
    const uint64_t before = t.lost();
    for (uint64_t step = 25; step < 55; ++step) t.push(step, step + 1);
    CHECK(t.join({.instance = 3, .base = 58, .origins = {{1, 58}}}, unknown) == 60);
    CHECK(t.lost() >= before + 2);
  }
  SECTION("also where the values are older than the snapshot") {
    t.join({.instance = 2, .base = 25, .origins = {{1, 25}}}, 25, 25);
    const uint64_t before = t.lost();
    for (uint64_t step = 25; step < 55; ++step) t.push(step, step + 1);
    CHECK(t.join({.instance = 3, .base = 20, .origins = {{1, 20}}}, unknown) == 60);
    CHECK(t.lost() >= before + 40);
  }
  SECTION("all of it where nothing is known of the values") {
    CHECK(t.join({.instance = 3, .base = 40}, unknown) == 60);
    CHECK(t.lost() == 60);
  }
}

// What is on its way to a shard that does not know this trainer is not sent again.
TEST_CASE("an update on its way is lost where a second pserver is lost too", "[trainer]") {
  Trainer t;
  t.join({.instance = 1}, 0);
  t.pull(0);
  t.updates.pushed(0, 0);
  SECTION("after it came back with a snapshot from before that update") {
    t.join({.instance = 2, .base = 0, .origins = {{1, 0}}}, 0);
    CHECK(t.lost() == 0);  // it is sent again
    CHECK(t.join({.instance = 3, .base = 0, .origins = {{1, 0}}}, unknown) == 1);
    CHECK(t.lost() == 1);
  }
  SECTION("after another trainer began the job anew there") {
    t.join({.instance = 2}, 0);
    CHECK(t.join({.instance = 3, .base = 4, .origins = {{2, 4}}}, unknown) == 1);
    CHECK(t.lost() == 1);
  }
  SECTION("after it was sent to the second one") {
    CHECK(t.join({.instance = 2, .base = 0, .origins = {{1, 0}}}, unknown) == 1);
    CHECK(t.lost() == 1);
    t.updates.pushed(0, 1);
    CHECK(t.join({.instance = 3, .base = 0, .origins = {{1, 0}}}, unknown) == 2);
    CHECK(t.lost() == 2);
  }
}

// An old snapshot lacks 35 of 60 steps; the values that come after it lack 5 more.
// Geo: the shard took three steps in one push, and its answer was lost with the connection.
TEST_CASE("a push without an answer counts with all its steps when it is lost", "[trainer]") {
  Trainer t;
  t.join({.instance = 1}, 0);
  t.updates.pushed(0, 2);
  t.join({.instance = 1}, 3, 3);
  t.pull(1);
  t.push(3, 2);
  REQUIRE(t.lost() == 0);
  t.join({.instance = 2, .base = 0, .origins = {{1, 0}}}, unknown, 4);
  CHECK(t.lost() == 4);
}

TEST_CASE("a step that was lost with one pserver is not counted again with the next", "[trainer]") {
  Trainer t;
  t.join({.instance = 1}, 0);
  for (uint64_t step = 0; step < 60; ++step) t.push(step, step + 1);
  t.join({.instance = 2, .base = 25, .origins = {{1, 25}}}, 25, 60);
  CHECK(t.lost() == 35);
  t.pull(25);
  SECTION("at once") {
    CHECK(t.join({.instance = 3, .base = 20, .origins = {{1, 20}}}, unknown) == 60);
    CHECK(t.lost() == 40);
  }
  SECTION("after ten steps more") {
    for (uint64_t step = 60; step < 70; ++step) t.push(step, step - 34);
    CHECK(t.join({.instance = 3, .base = 20, .origins = {{1, 20}}}, unknown) == 70);
    CHECK(t.lost() == 50);
  }
}

TEST_CASE("no more steps are lost than a trainer made", "[trainer]") {
  Trainer t;
  t.join({.instance = 1}, 0);
  for (uint64_t step = 0; step < 60; ++step) t.push(step, step + 1);
  SECTION("where another trainer began the job anew") {
    t.join({.instance = 2}, 0, 60);
    CHECK(t.lost() == 60);
    CHECK(t.join({.instance = 3, .base = 58, .origins = {{1, 58}}}, unknown) == 60);
    CHECK(t.lost() == 60);
  }
  SECTION("where one snapshot was used twice") {
    t.join({.instance = 2, .base = 4, .origins = {{1, 4}}}, 4, 60);
    CHECK(t.lost() == 56);
    t.push(60, 5);
    t.join({.instance = 3, .base = 4, .origins = {{1, 4}}}, 4, 61);
    CHECK(t.lost() >= 57);
    CHECK(t.lost() <= 61);
  }
}

// A trainer that was started again begins the job anew on an empty pserver; when that is lost,
// another trainer brings the values of the process before it.
TEST_CASE("values from processes that a trainer never joined are strange to it", "[trainer]") {
  Trainer t;
  t.join({.instance = 2}, 0);
  t.push(0, 1);
  SECTION("where none of its own is among them") {
    t.join({.instance = 3, .base = 10, .origins = {{1, 10}}}, unknown);
    CHECK(t.updates.take_strange());
    CHECK_FALSE(t.updates.take_strange());
    t.join({.instance = 3, .base = 10, .origins = {{1, 10}}}, 1);  // a connection was cut
    CHECK_FALSE(t.updates.take_strange());
  }
  SECTION("and not where one is") {
    t.join({.instance = 3, .base = 1, .origins = {{2, 1}}}, unknown);
    CHECK_FALSE(t.updates.take_strange());
  }
}

// Three steps, each with a gradient for one row.
TEST_CASE("rows count what was lost with several pservers", "[trainer]") {
  Cut cut = test::cut_by_hand({}, {}, 1);
  cut.trainer.tables.push_back({.param = "rows", .grad = "rows@GRAD", .width = 1});
  cut.table_shards = {0};
  test::SentMessages out;
  RowExchange rows(cut, wire::Mode::async, 20, out);
  // Joins the shard, which knows `last` steps; the step that it takes next.
  const auto join = [&](uint64_t last, uint64_t step) {
    const std::vector<wire::SliceState> there = {{.version = 0, .last_step = last}};
    step = std::max(step, rows.pushed(0));
    rows.joining(0, step, there);
    rows.join(0, step, there);
    return step;
  };
  const wire::ValuesPart part{.version = 1, .slice = 0};
  const wire::Values answer{{&part, 1}};
  join(0, 0);
  const std::vector<uint64_t> ids = {7};
  const float grad = 1;
  for (uint64_t step = 0; step < 3; ++step) {
    rows.begin_step({.step = step});
    rows.push(0, ids, &grad);
  }
  SECTION("with pushes that wait to be sent again") {
    rows.arrived(0, 0, answer);
    join(1, 3);  // from a snapshot
    REQUIRE(rows.lost()[0] == 0);
    CHECK(join(unknown, 0) == 3);
    CHECK(rows.lost()[0] == 3);
  }
  SECTION("with nothing left to send") {
    for (int i = 0; i < 3; ++i) rows.arrived(0, 0, answer);
    join(0, 3);  // another trainer began the job anew there
    REQUIRE(rows.lost()[0] == 3);
    CHECK(join(unknown, 0) == 3);
    CHECK(rows.lost()[0] == 3);
  }
  SECTION("with two snapshots that lack the same steps") {
    for (int i = 0; i < 3; ++i) rows.arrived(0, 0, answer);
    join(1, 3);
    REQUIRE(rows.lost()[0] == 2);
    rows.begin_step({.step = 3});
    rows.push(0, ids, &grad);
    rows.arrived(0, 0, answer);
    join(1, 4);
    CHECK(rows.lost()[0] == 3);  // the second, the third and the fourth
    join(0, 4);
    CHECK(rows.lost()[0] == 4);
  }
}

}  // namespace value_origins_test
