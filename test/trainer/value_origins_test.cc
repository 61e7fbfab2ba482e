#include "trainer/value_origins.h"

#include <catch2/catch.hpp>

#include "trainer/exchange_support.h"
#include "trainer/sent_updates.h"

using namespace paddle;

namespace value_origins_test {

using Origins = std::vector<wire::Origin>;

constexpr uint64_t unknown = wire::unknown_steps;

// A trainer with one slice on one shard.
struct Trainer {
  explicit Trainer(UpdateKind kind = {.repeat_steps = false}) : updates(layout, kind) {}

  // Joins a shard that knows `last` of its steps; the step that the shard takes next.
  uint64_t join(const ShardValues& shard, uint64_t last, uint64_t step = 0) {
    const std::vector<wire::SliceState> there = {{.version = shard.base, .last_step = last}};
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
  SECTION("and can be computed again where the values are older than the snapshot") {
    t.join({.instance = 2, .base = 25, .origins = {{1, 25}}}, 25, 25);
    const uint64_t before = t.lost();
    for (uint64_t step = 25; step < 55; ++step) t.push(step, step + 1);
    CHECK(t.join({.instance = 3, .base = 20, .origins = {{1, 20}}}, unknown) == 25);
    CHECK(t.lost() >= before + 5);
  }
  SECTION("all of it where nothing is known of the values") {
    CHECK(t.join({.instance = 3, .base = 40}, unknown) == 60);
    CHECK(t.lost() == 60);
  }
}

}  // namespace value_origins_test
