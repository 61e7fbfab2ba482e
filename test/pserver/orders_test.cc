// What admins ask a shard for: snapshots of a step that all shards can have, and a stop.
#include "pserver/plain_shard.h"
#include "support/quiet_log.h"

namespace orders_test {

using namespace paddle;
using Catch::Contains;
using Code = wire::FailureCode;

ShardOptions with_snapshots() {
  ShardOptions options;
  options.snapshots = {.directory = "memory", .period = 1000, .keep = 3};
  return options;
}

wire::Hello greeting(wire::Role role) {
  wire::Hello h = PlainShard::hello(0);
  h.role = role;
  return h;
}

struct Ordered {
  MemoryDisk disk;
  PlainShard shard;
  SmallJob job = small_job({.sizes = {5, 7}, .trainers = 2});
  PeerId trainers[2], admin;

  explicit Ordered(wire::Mode mode, ShardOptions options = with_snapshots())
      : shard(std::move(options), &disk) {
    for (uint32_t t = 0; t < 2; ++t) trainers[t] = shard.greet(t, 2, mode);
    shard.configure(trainers[0], job);
    for (const PeerId p : trainers) shard.say(p, wire::Join{0, 0});
    admin = shard.greet(greeting(wire::Role::admin));
  }
  void push(uint32_t trainer, uint64_t step, uint32_t slice) {
    shard.push(trainers[trainer], step,
               {{10 + slice, gradients(trainer, step, slice, slice == 0 ? 5 : 7)}});
  }
  void step(uint64_t step) {
    for (uint32_t t = 0; t < 2; ++t)
      for (uint32_t s = 0; s < 2; ++s) push(t, step, s);
  }
  uint64_t order(uint64_t step) {
    return shard.say(admin, wire::Command{wire::Order::snapshot, step});
  }
};

TEST_CASE("an admin gets a snapshot of a step to come, when it is on the disk", "[pserver]") {
  const QuietLog quiet;
  Ordered o(wire::Mode::sync);
  o.step(0);
  const uint64_t id = o.order(3);
  o.step(1);
  o.shard.disk_reports = false;
  o.push(0, 2, 0);
  o.push(1, 2, 0);
  CHECK(o.disk.kept.count(3) == 0);  // the other slice is not there yet
  o.push(0, 2, 1);
  o.push(1, 2, 1);
  CHECK(o.disk.kept.count(3) == 1);
  CHECK_FALSE(o.shard.answered(id));
  o.shard.disk_reports = true;
  o.step(3);
  REQUIRE(o.shard.answered(id));
  REQUIRE(o.shard.reply(id).is<wire::Ack>());
  CHECK(std::get<wire::Ack>(o.shard.reply(id).body).version == 3);
  CHECK(o.disk.kept.count(4) == 0);  // once
  // It can be asked for again, and costs nothing.
  CHECK(o.shard.reply(o.order(3)).is<wire::Ack>());
}

TEST_CASE("an admin gets a snapshot of this moment where nobody trains", "[pserver]") {
  const QuietLog quiet;
  Ordered o(wire::Mode::sync);
  o.step(0);
  CHECK(o.shard.reply(o.order(1)).is<wire::Ack>());
  CHECK(o.disk.kept.count(1) == 1);
}

TEST_CASE("a step that a slice has passed is refused for now", "[pserver]") {
  const QuietLog quiet;
  Ordered o(wire::Mode::sync);
  for (uint64_t s = 0; s < 3; ++s) o.step(s);
  o.push(0, 3, 0);
  o.push(1, 3, 0);  // one slice is at 4, the other at 3
  for (const uint64_t step : {uint64_t{2}, uint64_t{3}, uint64_t{4}})
    CHECK(o.shard.reply(o.order(step)).failed(Code::wait));
  CHECK_FALSE(o.shard.answered(o.order(5)));
}

TEST_CASE("without rounds the snapshot is that of the moment", "[pserver]") {
  const QuietLog quiet;
  Ordered o(wire::Mode::async);
  o.step(0);
  const uint64_t id = o.order(12345);
  REQUIRE(o.shard.reply(id).is<wire::Ack>());
  CHECK(o.disk.kept.count(std::get<wire::Ack>(o.shard.reply(id).body).version) == 1);
}

TEST_CASE("a snapshot that will not come is not waited for", "[pserver]") {
  const QuietLog quiet;
  SECTION("no directory") {
    PlainShard shard;
    const PeerId admin = shard.greet(greeting(wire::Role::admin));
    shard.say(admin, wire::Command{wire::Order::snapshot, 1});
    CHECK_THAT(shard.last_failure(), Contains("--snapshot_dir"));
  }
  SECTION("no values") {
    MemoryDisk disk;
    PlainShard shard(with_snapshots(), &disk);
    const PeerId admin = shard.greet(greeting(wire::Role::admin));
    shard.say(admin, wire::Command{wire::Order::snapshot, 1});
    CHECK_THAT(shard.last_failure(), Contains("no values"));
  }
  SECTION("the job has gone back") {
    Ordered o(wire::Mode::sync);
    o.step(0);
    o.order(1);
    const uint64_t id = o.order(50);
    o.shard.say(o.trainers[0], wire::Rollback{1, 1});
    o.shard.tick();
    CHECK(o.shard.reply(id).failed(Code::wait));
  }
  SECTION("the admin has left") {
    Ordered o(wire::Mode::sync);
    o.step(0);
    const uint64_t id = o.order(2);
    o.shard.close(o.admin);
    o.step(1);
    CHECK(o.disk.kept.count(2) == 1);
    CHECK_FALSE(o.shard.answered(id));
  }
}

TEST_CASE("only an admin commands, and it is no trainer", "[pserver]") {
  const QuietLog quiet;
  int stops = 0;
  ShardOptions options = with_snapshots();
  options.calls.on_stop = [&] { ++stops; };
  Ordered o(wire::Mode::sync, options);
  const PeerId observer = o.shard.greet(greeting(wire::Role::observer));
  for (const wire::Order order : {wire::Order::snapshot, wire::Order::stop})
    for (const PeerId p : {observer, o.trainers[0]}) {
      wire::Message command{900, wire::Command{order, 1}};
      CHECK_THROWS_WITH(o.shard.shard.handle(p, command, 0, o.shard.now),
                        Contains("only an admin"));
    }
  CHECK(stops == 0);
  wire::Message fetch{901, wire::Fetch{"w_0", 0, 4}};
  CHECK_THROWS_WITH(o.shard.shard.handle(o.admin, fetch, 0, o.shard.now),
                    Contains("the status only"));
  CHECK(o.shard.reply(o.shard.say(o.admin, wire::StatusAsk{})).is<wire::Status>());
  CHECK(o.shard.reply(o.shard.say(o.admin, wire::Command{wire::Order::stop, 0})).is<wire::Ack>());
  CHECK(stops == 1);
}

TEST_CASE("observers keep no admin out", "[pserver]") {
  const QuietLog quiet;
  PlainShard shard;
  for (int i = 0; i < 64; ++i) shard.greet(greeting(wire::Role::observer));
  CHECK_FALSE(shard.shard.peer(shard.greet(greeting(wire::Role::observer))).greeted);
  CHECK_THAT(shard.last_failure(), Contains("64 observers already"));
  CHECK(shard.shard.peer(shard.greet(greeting(wire::Role::admin))).greeted);
}

}  // namespace orders_test
