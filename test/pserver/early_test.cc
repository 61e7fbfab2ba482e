// A gradient that alone makes the next version is used while it comes in. Nobody may see a
// difference: the same bits, nothing left of one that breaks off, nobody added to it.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "pserver/plain_shard.h"
#include "support/quiet_log.h"

using namespace paddle;
using Catch::Contains;
using Code = wire::FailureCode;

namespace {

constexpr uint32_t slice_id = 10;
constexpr int64_t elements = 3 * 4096 + 1234;

struct Early {
  PlainShard shard;
  SmallJob job;
  std::vector<PeerId> peers;

  explicit Early(uint32_t trainers, ShardOptions options = {}, bool decays = false,
                 MemoryDisk* disk = nullptr)
      : shard(std::move(options), disk),
        job(small_job({.sizes = {elements}, .trainers = trainers, .decays = decays})) {
    for (uint32_t t = 0; t < trainers; ++t) peers.push_back(shard.greet(t, trainers));
    shard.configure(peers[0], job);
    for (const PeerId p : peers) shard.say(p, wire::Join{0, 0});
  }
  uint64_t push(uint32_t trainer, uint64_t step, bool whole = true) {
    return shard.push(peers[trainer], step, {{slice_id, gradients(trainer, step, 0, elements)}},
                      whole);
  }
  std::vector<float> values(uint64_t version) {
    return shard.reply(shard.pull(peers[0], slice_id, version)).values();
  }
};

}  // namespace

TEST_CASE("early: values made part by part have the bits of those made at once", "[pserver]") {
  const SmallJob job = small_job({.sizes = {elements}});
  const auto whole = store_of(job), parts = store_of(job);
  Slice &a = whole->slices()[0], &b = parts->slices()[0];
  REQUIRE(b.can_make_early());
  for (uint64_t step = 0; step < 3; ++step) {
    const auto g = gradients(0, step, 0, elements);
    a.add_to_sum(bytes_of(g));
    a.close_round();
    const auto before = floats_of(b.values());
    std::span<std::byte> place = b.take_spare();
    b.begin_early();
    for (size_t at = 0; at < b.bytes();) {
      const size_t end = std::min(b.bytes(), at + 8 * (1 + 1777 * (step + 1)));
      std::memcpy(place.data() + at, bytes_of(g) + at, end - at);
      REQUIRE(b.make_early(at, end));
      at = end;
    }
    CHECK((floats_of(b.values()) == before));
    b.begin_sum();
    b.close_round();
    CHECK((floats_of(b.values()) == floats_of(a.values())));
    CHECK((floats_of(b.previous()) == before));
  }
}

TEST_CASE("early: only where the update is one of values and gradient alone", "[pserver]") {
  for (const optim::Rule& rule : optim::rules()) {
    if (rule.type == "rmsprop" || rule.type == "adadelta") continue;
    CAPTURE(rule.type);
    const auto store = store_of(small_job({.rule = rule.type, .sizes = {elements}}));
    CHECK(store->slices()[0].can_make_early() == rule.states.empty());
  }
  CHECK(!store_of(small_job({.sizes = {elements}, .l2 = 0.5f}))->slices()[0].can_make_early());
  CHECK(!store_of(small_job({.sizes = {elements}}), false)->slices()[0].can_make_early());
  CHECK(!store_of(small_job({.sizes = {8}}))->slices()[0].can_make_early());
}

TEST_CASE("early: NaN is found wherever it stands, and leaves the values alone", "[pserver]") {
  const QuietLog quiet;
  Early t(1);
  for (const int64_t at : {int64_t{0}, int64_t{5000}, elements - 1}) {
    auto g = gradients(0, 0, 0, elements);
    g[static_cast<size_t>(at)] = INFINITY;
    CHECK(t.shard.reply(t.shard.push(t.peers[0], 0, {{slice_id, g}})).failed(Code::not_finite));
    CHECK((t.values(0) == expected(t.job, 1, 0, 0)));
  }
  CHECK((t.shard.reply(t.push(0, 0)).values() == expected(t.job, 1, 1, 0)));
}

TEST_CASE("early: a gradient that breaks off leaves nothing behind", "[pserver]") {
  const QuietLog quiet;
  Early t(1, {}, true);
  t.push(0, 0);
  t.push(0, 1, false);
  t.shard.close(t.peers[0]);
  t.peers[0] = t.shard.greet(0, 1, wire::Mode::sync, 77);
  t.shard.say(t.peers[0], wire::Join{0, 1});
  CHECK((t.values(1) == expected(t.job, 1, 1, 0)));
  CHECK((t.shard.reply(t.push(0, 1)).values() == expected(t.job, 1, 2, 0)));
}

TEST_CASE("early: values that are made wait for a slow disk", "[pserver]") {
  const QuietLog quiet;
  MemoryDisk disk;
  Early t(1, {.snapshots = {.directory = "memory", .period = 1, .keep = 3}}, false, &disk);
  t.shard.disk_reports = false;
  t.push(0, 0);
  t.push(0, 1);
  const uint64_t waits = t.push(0, 2);
  CHECK(!t.shard.answered(waits));
  CHECK((t.values(2) == expected(t.job, 1, 2, 0)));
  t.shard.disk_reports = true;
  t.shard.tick();
  CHECK((t.shard.reply(waits).values() == expected(t.job, 1, 3, 0)));
}

TEST_CASE("early: who joins while the last gradient comes in is in the next round", "[pserver]") {
  const QuietLog quiet;
  SECTION("where trainers that are lost are dropped") {
    Early t(2,
            {.leases = {.policy = LossPolicy::drop, .lease_seconds = 10, .reconnect_seconds = 2}});
    t.shard.close(t.peers[1]);
    t.shard.tick(3);
    const uint64_t last = t.push(0, 0, false);
    t.peers[1] = t.shard.greet(1, 2, wire::Mode::sync, 77);
    const uint64_t late = t.shard.say(t.peers[1], wire::Join{0, 0});
    CHECK(t.shard.reply(late).failed(Code::stale_epoch));
    CHECK(t.shard.reply(t.shard.say(t.peers[1], wire::Join{0, 1})).is<wire::Ack>());
    t.shard.finish(t.peers[0]);
    CHECK((t.shard.reply(last).values() == expected(t.job, 1, 1, 0)));
    const uint64_t next = t.push(0, 1);
    CHECK(!t.shard.answered(next));
    t.push(1, 1);
    CHECK(t.shard.answered(next));
  }
  SECTION("where one that had finished returns") {
    Early t(2);
    t.shard.say(t.peers[1], wire::Complete{wire::Phase::finished});
    const uint64_t last = t.push(0, 0, false);
    t.shard.close(t.peers[1]);
    t.peers[1] = t.shard.greet(1, 2, wire::Mode::sync, 77);
    CHECK(t.shard.reply(t.shard.say(t.peers[1], wire::Join{0, 0})).is<wire::Ack>());
    const uint64_t late = t.push(1, 0);
    CHECK(!t.shard.answered(late));
    SECTION("its gradient comes too late") {
      t.shard.finish(t.peers[0]);
      CHECK((t.shard.reply(last).values() == expected(t.job, 1, 1, 0)));
      CHECK((t.shard.reply(late).values() == expected(t.job, 1, 1, 0)));
    }
    SECTION("or in time, where the other one breaks off") {
      t.shard.close(t.peers[0]);
      t.peers[0] = t.shard.greet(0, 2, wire::Mode::sync, 78);
      t.shard.say(t.peers[0], wire::Join{0, 0});
      const uint64_t again = t.push(0, 0);
      CHECK((t.shard.reply(again).values() == expected(t.job, 2, 1, 0)));
      CHECK((t.shard.reply(late).values() == expected(t.job, 2, 1, 0)));
    }
  }
}
