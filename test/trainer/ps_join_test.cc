#include "trainer/ps_join.h"

#include <catch2/catch.hpp>

using namespace paddle;
using Action = JoinDecision::Action;
using State = wire::ShardState;
using Catch::Matchers::Contains;

namespace {

Greeting empty(const std::string& name = "a:1") { return {.endpoint = name}; }

Greeting ready(std::vector<Greeting::Slice> slices, std::vector<uint64_t> snapshots = {},
               uint64_t epoch = 0) {
  return {.endpoint = "b:2",
          .epoch = epoch,
          .state = State::ready,
          .init = "values",
          .configured_by = "host:7",
          .slices = std::move(slices),
          .snapshots = std::move(snapshots)};
}

const JoinQuestion in_sync{.init = "values"};
using Indices = std::vector<size_t>;

}  // namespace

TEST_CASE("joining: the beginning", "[trainer]") {
  SECTION("empty shards are configured") {
    const auto d = decide({empty(), empty()}, in_sync);
    CHECK(d.action == Action::configure);
    CHECK(d.shards == Indices{0, 1});
    CHECK_FALSE(d.reset);
  }
  SECTION("a shard that another trainer left out is configured by whoever has the same values") {
    const auto d = decide({ready({{0, 0, false}}), empty()}, in_sync);
    CHECK(d.action == Action::configure);
    CHECK(d.shards == Indices{1});
  }
  SECTION("with other values it is left to the one who began") {
    const auto d = decide({ready({{0, 0, false}}), empty()}, {.init = "others"});
    CHECK(d.action == Action::wait);
    CHECK_THAT(d.why, Contains("host:7"));
    // … who has gone: then all shards begin again with this trainer's values.
    const auto own =
        decide({ready({{0, 0, false}}), empty()}, {.init = "others", .configurer_timed_out = true});
    CHECK(own.action == Action::configure);
    CHECK(own.shards == Indices{0, 1});
    CHECK(own.epoch == 1);
    CHECK(own.reset);
  }
  SECTION("a shard that is being configured is waited for") {
    Greeting g = empty();
    g.state = State::configuring;
    CHECK(decide({g, empty()}, in_sync).action == Action::wait);
  }
  SECTION("all ready: step 0") {
    const auto d = decide({ready({{0, 0, false}}), ready({{1, 0, false}})}, in_sync);
    CHECK(d.action == Action::join);
    CHECK(d.step == 0);
    CHECK_FALSE(d.place);
  }
  SECTION("a shard without slices decides nothing") {
    CHECK(decide({ready({}), ready({{0, 4, false}})}, in_sync).step == 4);
  }
}

TEST_CASE("joining again in sync mode", "[trainer]") {
  SECTION("goes on with the first step that any slice lacks") {
    // Slice 0 has closed round 5; slice 1 waits in round 5 for others; slice 2 waits for us.
    const auto d = decide({ready({{0, 6, false}, {1, 5, true}}), ready({{2, 5, false}})}, in_sync);
    CHECK(d.action == Action::join);
    CHECK(d.step == 5);
  }
  SECTION("goes on behind rounds that wait for others only") {
    CHECK(decide({ready({{0, 5, true}}), ready({{1, 5, true}})}, in_sync).step == 6);
    const auto d = decide({ready({{0, 6, false}}), ready({{1, 5, true}})}, in_sync);
    CHECK(d.action == Action::join);
    CHECK(d.step == 6);
  }
  SECTION("goes back where a slice is two steps ahead of another") {
    CHECK(decide({ready({{0, 6, true}}), ready({{1, 5, false}})}, in_sync).action ==
          Action::configure);
  }
  SECTION("knows where the data of that step begins") {
    Greeting a = ready({{0, 5, false}});
    a.last_push = wire::LastPush{4, {.record = 40}, {.record = 50}};
    CHECK(decide({a}, in_sync).place == wire::Position{.record = 50});
    a.slices[0].contributed = false;
    a.last_push->step = 5;
    CHECK(decide({a}, in_sync).place == wire::Position{.record = 40});
  }
  SECTION("what was done between two steps is not done again where a shard is ahead") {
    Greeting back = ready({{0, 200, false}}), ahead = ready({{1, 201, false}});
    ahead.oldest = 200;
    back.last_push = wire::LastPush{199, {.pass = 4, .record = 390}, {.pass = 4, .record = 400}};
    ahead.last_push = wire::LastPush{200, {.pass = 5}, {.pass = 5, .record = 10}};
    for (const auto& shards : {std::vector{back, ahead}, std::vector{ahead, back}}) {
      const auto d = decide(shards, in_sync);
      CHECK(d.step == 200);
      CHECK(d.place == wire::Position{.pass = 5});
    }
  }
  SECTION("one that had finished stays at the end of its data") {
    Greeting a = ready({{0, 50, false}}), b = ready({{1, 51, false}});
    a.last_push = b.last_push = wire::LastPush{29, {}, {.pass = 3}};
    const auto d = decide({a, b}, in_sync);
    CHECK(d.action == Action::join);
    CHECK(d.place == wire::Position{.pass = 3});
    // After a reset a place of the time before it means nothing.
    a.slices[0].version = b.slices[0].version = 0;
    CHECK_FALSE(decide({a, b}, in_sync).place);
  }
  SECTION("goes back where a pserver is behind: to the newest common snapshot") {
    const auto d =
        decide({ready({{0, 9, false}}, {0, 4, 8}), ready({{1, 4, false}}, {0, 4})}, in_sync);
    CHECK(d.action == Action::rollback);
    CHECK(d.step == 4);
    CHECK(d.epoch == 1);
    CHECK(d.shards == Indices{0, 1});
    CHECK_THAT(d.why, Contains("step"));
  }
  SECTION("goes back to the first values where there is no common snapshot") {
    const auto d = decide({ready({{0, 9, false}}, {8}), ready({{1, 4, false}}, {4})}, in_sync);
    CHECK(d.action == Action::configure);
    CHECK(d.reset);
    CHECK(d.shards == Indices{0, 1});
  }
  SECTION("goes back to the first values where a pserver lost all it had") {
    const auto d = decide({ready({{0, 9, false}}, {8}), empty()}, in_sync);
    CHECK(d.action == Action::configure);
    CHECK(d.reset);
    CHECK(d.epoch == 1);
    CHECK_THAT(d.why, Contains("without its state"));
  }
  SECTION("finishes a rollback that somebody began") {
    const auto d =
        decide({ready({{0, 4, false}}, {4}, 3), ready({{1, 9, true}}, {4, 8}, 2)}, in_sync);
    CHECK(d.action == Action::rollback);
    CHECK(d.epoch == 3);
    CHECK(d.step == 4);
    CHECK(d.shards == Indices{1});
  }
  SECTION("finishes a way back to the first values that somebody began") {
    const auto d =
        decide({ready({{0, 0, false}}, {}, 3), empty(), ready({{1, 9, true}}, {}, 2)}, in_sync);
    CHECK(d.action == Action::configure);
    CHECK(d.reset);
    CHECK(d.epoch == 3);
    CHECK(d.shards == Indices{1, 2});
  }
  SECTION("a trainer that was dropped joins at the newest version") {
    Greeting a = ready({{0, 9, false}}), b = ready({{1, 10, false}});
    b.lost = true;
    const auto d = decide({a, b}, in_sync);
    CHECK(d.action == Action::join);
    CHECK(d.step == 10);
  }
}

TEST_CASE("joining again in async mode", "[trainer]") {
  const JoinQuestion async{.mode = wire::Mode::async, .init = "values"};
  SECTION("goes on behind the last step that was applied, whatever the versions are") {
    const auto d = decide({ready({{0, 90, false, 31}}), ready({{1, 12, false, 30}})}, async);
    CHECK(d.action == Action::join);
    CHECK(d.step == 31);
  }
  SECTION("half-async computes a step again that some slices lack") {
    const JoinQuestion half{.mode = wire::Mode::half_async, .init = "values"};
    Greeting a = ready({{0, 90, false, 31}, {1, 90, false, 30}});
    a.last_push = wire::LastPush{30, {.record = 300}, {.record = 310}};
    const auto d = decide({a}, half);
    CHECK(d.step == 30);
    CHECK(d.place == wire::Position{.record = 300});
    a.slices[1].steps = 3;  // from a snapshot
    CHECK(decide({a}, half).step == 31);
  }
  SECTION("a job that goes on from a model counts on from its step") {
    const JoinQuestion later{.mode = wire::Mode::half_async, .init = "values", .first_step = 88};
    CHECK(decide({ready({{0, 88, false, 0}})}, later).step == 88);
    Greeting a = ready({{0, 89, false, 89}, {1, 88, false, 0}});  // one slice lacks its first step
    a.last_push = wire::LastPush{88, {.record = 300}, {}};
    CHECK(decide({a}, later).step == 88);
    CHECK(decide({a}, later).place == wire::Position{.record = 300});
  }
  SECTION("says where a shard holds steps of this trainer that it does not know of") {
    CHECK_FALSE(decide({ready({{0, 90, false, 0}})}, async).unknown_steps);
    Greeting a = ready({{0, 90, false, 0}});  // another process with this id has joined at step 0
    a.forgot = true;
    CHECK(decide({a}, async).unknown_steps);
    CHECK(decide({a}, async).knows_step);
  }
  SECTION("gives an empty pserver the values of now") {
    const auto d = decide({ready({{0, 90, false, 31}}), empty()}, async);
    CHECK(d.action == Action::configure);
    CHECK(d.shards == Indices{1});
    CHECK_FALSE(d.reset);
  }
}

TEST_CASE("joining where there are more shards than slices", "[trainer]") {
  Greeting idle = ready({});
  idle.holds = false;
  Greeting idle_empty = empty();
  idle_empty.holds = false;
  SECTION("shards with slices are configured first, then the others") {
    CHECK(decide({empty(), idle_empty}, in_sync).shards == Indices{0});
    const auto d = decide({ready({{0, 0, false}}), idle_empty}, in_sync);
    CHECK(d.action == Action::configure);
    CHECK(d.shards == Indices{1});
    CHECK_FALSE(d.reset);
  }
  SECTION("one that came back without anything does not send the others back") {
    const auto d = decide({ready({{0, 120, false}}, {50, 100}), idle_empty}, in_sync);
    CHECK(d.action == Action::configure);
    CHECK(d.shards == Indices{1});
    CHECK(d.epoch == 0);
    CHECK_FALSE(d.reset);
  }
  SECTION("it needs no snapshot where the others go back to theirs") {
    const auto d = decide(
        {ready({{0, 120, false}}, {50, 100}), ready({{1, 100, false}}, {50, 100}), idle}, in_sync);
    CHECK(d.action == Action::rollback);
    CHECK(d.shards == Indices{0, 1});
    CHECK(d.step == 100);
    CHECK(d.epoch == 1);
  }
  SECTION("afterwards it follows them into their epoch") {
    const auto d = decide({ready({{0, 100, false}}, {50, 100}, 1), idle}, in_sync);
    CHECK(d.action == Action::configure);
    CHECK(d.shards == Indices{1});
    CHECK(d.epoch == 1);
    CHECK(d.reset);
  }
  SECTION("where it alone knows of the newest epoch, the others still go back to their snapshots") {
    idle.epoch = 1;
    const auto d = decide({ready({{0, 100, false}}, {50, 100}), idle}, in_sync);
    CHECK(d.action == Action::rollback);
    CHECK(d.shards == Indices{0});
    CHECK(d.step == 100);
    CHECK(d.epoch == 2);
  }
}
