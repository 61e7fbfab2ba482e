// Rounds, membership and recovery of a shard, by plain calls with given time.
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "pserver/plain_shard.h"
#include "support/quiet_log.h"

using namespace paddle;
using Catch::Contains;
using Code = wire::FailureCode;

namespace {

struct Trainers {
  PlainShard shard;
  SmallJob job;
  std::vector<PeerId> peers;

  Trainers(const SmallJobOptions& o, ShardOptions options = {}, MemoryDisk* disk = nullptr,
           wire::Mode mode = wire::Mode::sync)
      : shard(std::move(options), disk), job(small_job(o)) {
    for (uint32_t t = 0; t < o.trainers; ++t) peers.push_back(shard.greet(t, o.trainers, mode));
    shard.configure(peers[0], job);
    for (const PeerId p : peers) shard.say(p, wire::Join{0, 0});
  }
  std::vector<float> grad(uint32_t trainer, uint64_t step, size_t slice) const {
    const auto n = static_cast<int64_t>(job.values[index(slice)].numel());
    return gradients(trainer, step, slice, n);
  }
  size_t index(size_t slice) const {
    const std::string name = text("w_", slice);
    for (size_t i = 0; i < job.config.variables.size(); ++i)
      if (job.config.variables[i].name == name) return i;
    return 0;
  }
  uint64_t push(uint32_t trainer, uint64_t step, size_t slice, bool whole = true) {
    return shard.push(peers[trainer], step,
                      {{static_cast<uint32_t>(10 + slice), grad(trainer, step, slice)}}, whole);
  }
};

}  // namespace

TEST_CASE("rounds: gradients are added in the order of trainers", "[pserver]") {
  const QuietLog quiet;
  std::vector<uint32_t> order = {0, 1, 2, 3};
  do {
    Trainers t({.rule = "momentum", .sizes = {1003}, .trainers = 4});
    uint64_t last = 0;
    for (const uint32_t trainer : order) last = t.push(trainer, 0, 0);
    CHECK((t.shard.reply(last).values() == expected(t.job, 4, 1, 0)));
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("rounds: trainers that send their slices in any order all go on", "[pserver]") {
  const QuietLog quiet;
  constexpr uint32_t trainers = 5;
  constexpr size_t slices = 6;
  constexpr uint64_t steps = 2;
  // The pool is small beside what the trainers send: three slices, one of them for who is in turn.
  const std::vector<int64_t> sizes(slices, 300'000);
  Trainers t({.sizes = sizes, .trainers = trainers});
  std::mt19937 random(GENERATE(1u, 2u, 3u));
  size_t holds = 0;
  std::vector<std::vector<float>> ends(slices);
  for (uint64_t step = 0; step < steps; ++step) {
    std::vector<std::vector<size_t>> left(trainers);
    std::vector<std::pair<uint64_t, size_t>> asked;
    for (auto& l : left) {
      for (size_t s = 0; s < slices; ++s) l.push_back(s);
      std::shuffle(l.begin(), l.end(), random);
    }
    for (size_t idle = 0; idle < 1000; ++idle) {
      const auto who = static_cast<uint32_t>(random() % trainers);
      const PeerId peer = t.peers[who];
      if (t.shard.busy(peer)) {
        t.shard.finish(peer);  // does nothing where it is held
        continue;
      }
      if (left[who].empty()) continue;
      idle = 0;
      const size_t slice = left[who].back();
      left[who].pop_back();
      asked.emplace_back(t.push(who, step, slice, random() % 2 == 0), slice);
      holds += t.shard.held(peer) ? 1 : 0;
    }
    for (const auto& [id, slice] : asked) {
      REQUIRE(t.shard.answered(id));
      if (ends[slice].empty() || step + 1 == steps) ends[slice] = t.shard.reply(id).values();
    }
  }
  CHECK(holds > 0);  // or this has not tested what it should
  for (size_t s = 0; s < slices; ++s) CHECK((ends[s] == expected(t.job, trainers, steps, s)));
}

TEST_CASE("rounds: a dropped trainer that joins in the middle of a round gets a place",
          "[pserver]") {
  const QuietLog quiet;
  // The region for messages in turn holds one of them, the other one none.
  Trainers t({.sizes = {300'000}, .trainers = 4}, {.leases = {.policy = LossPolicy::drop}});
  t.shard.close(t.peers[0]);
  t.shard.tick(3);
  t.push(1, 0, 0);
  t.peers[0] = t.shard.greet(0, 4, wire::Mode::sync, 77);
  const auto join = [&] { return t.shard.say(t.peers[0], wire::Join{0, 0}); };
  SECTION("while a gradient in turn comes in") {
    t.push(2, 0, 0, false);
    CHECK(t.shard.reply(join()).is<wire::Ack>());
    t.shard.finish(t.peers[2]);
  }
  SECTION("before a gradient comes that was in turn") {
    CHECK(t.shard.reply(join()).is<wire::Ack>());
    t.push(2, 0, 0);
    CHECK(t.shard.held(t.peers[2]));
  }
  const uint64_t id = t.push(0, 0, 0);
  CHECK(!t.shard.held(t.peers[0]));
  t.shard.finish(t.peers[2]);
  t.push(3, 0, 0);
  REQUIRE(t.shard.answered(id));
  const std::vector<float> all = expected(t.job, 4, 1, 0), got = t.shard.reply(id).values();
  for (size_t i = 0; i < all.size(); i += 1000) CHECK(got[i] == Approx(all[i]).margin(1e-5));
}

TEST_CASE("rounds: half a gradient of a trainer that dies leaves no trace", "[pserver]") {
  const QuietLog quiet;
  const uint32_t dies = GENERATE(0u, 1u, 2u);
  Trainers t({.sizes = {5000}, .trainers = 3});
  for (uint32_t i = 0; i < 3; ++i)
    if (i != dies) t.push(i, 0, 0);
  t.push(dies, 0, 0, false);
  t.shard.close(t.peers[dies]);
  t.peers[dies] = t.shard.greet(dies, 3, wire::Mode::sync, 77);
  t.shard.say(t.peers[dies], wire::Join{0, 0});
  const uint64_t id = t.push(dies, 0, 0);
  CHECK((t.shard.reply(id).values() == expected(t.job, 3, 1, 0)));
}

TEST_CASE("rounds: NaN is never added", "[pserver]") {
  const QuietLog quiet;
  const uint32_t bad = GENERATE(0u, 1u);
  Trainers t({.sizes = {100, 20}, .trainers = 2});
  const auto a = t.grad(bad, 0, 0);
  auto b = t.grad(bad, 0, 1);
  b[7] = NAN;
  const uint64_t together = t.shard.push(t.peers[bad], 0, {{10, a}, {11, b}});
  CHECK(t.shard.reply(together).failed(Code::not_finite));
  const uint64_t alone = t.shard.push(t.peers[bad], 0, {{11, b}});
  CHECK(t.shard.reply(alone).failed(Code::not_finite));
  for (size_t s = 0; s < 2; ++s) {
    t.push(1 - bad, 0, s);
    CHECK((t.shard.reply(t.push(bad, 0, s)).values() == expected(t.job, 2, 1, s)));
  }
}

TEST_CASE("rounds: many slices travel in one message each way", "[pserver]") {
  const QuietLog quiet;
  const wire::Mode mode = GENERATE(wire::Mode::sync, wire::Mode::async);
  Trainers t({.sizes = {16, 16, 16}, .trainers = 2}, {}, nullptr, mode);
  const auto all = [&](uint32_t trainer, uint64_t step) {
    std::vector<PlainShard::Part> parts;
    for (const size_t s : {2, 0, 1})
      parts.push_back({static_cast<uint32_t>(10 + s), t.grad(trainer, step, s), 0});
    return parts;
  };
  SECTION("and are answered when all have their version") {
    const uint64_t first = t.shard.push(t.peers[1], 0, all(1, 0));
    if (mode == wire::Mode::async) {
      REQUIRE(t.shard.reply(first).parts.size() == 3);
      return;
    }
    CHECK(!t.shard.answered(first));
    t.push(0, 0, 0);
    t.push(0, 0, 1);
    CHECK(!t.shard.answered(first));
    const uint64_t last = t.push(0, 0, 2);
    REQUIRE(t.shard.answered(first));
    const Reply& r = t.shard.reply(first);
    REQUIRE(r.parts.size() == 3);
    CHECK(r.parts[0].slice == 12);
    CHECK(r.parts[2].version == 1);
    std::vector<float> want;
    for (const size_t s : {2, 0, 1})
      for (const float v : expected(t.job, 2, 1, s)) want.push_back(v);
    CHECK((r.values() == want));
    CHECK(t.shard.answered(last));
    const uint64_t again = t.shard.push(t.peers[1], 0, all(1, 0));  // repeated
    CHECK((t.shard.reply(again).values() == want));
  }
  SECTION("and change nothing where one of them is wrong") {
    auto wrong = all(1, 0);
    SECTION("unknown") {
      wrong[1].slice = 77;
      CHECK(t.shard.reply(t.shard.push(t.peers[1], 0, wrong)).failed(Code::unknown_version));
    }
    SECTION("size") {
      wrong[2].grad.push_back(0);
      CHECK(t.shard.reply(t.shard.push(t.peers[1], 0, wrong)).failed(Code::protocol));
    }
    SECTION("too much") {
      wrong[0].grad.resize(max_group_bytes);
      CHECK(t.shard.reply(t.shard.push(t.peers[1], 0, wrong)).failed(Code::protocol));
    }
    if (mode == wire::Mode::async) return;
    for (size_t s = 0; s < 3; ++s) {
      t.push(1, 0, s);
      CHECK((t.shard.reply(t.push(0, 0, s)).values() == expected(t.job, 2, 1, s)));
    }
  }
}

TEST_CASE("rounds: the version before is kept until the next gradient comes", "[pserver]") {
  const QuietLog quiet;
  Trainers t({.sizes = {50}, .trainers = 2});
  t.push(0, 0, 0);
  t.push(1, 0, 0);
  CHECK((t.shard.reply(t.shard.pull(t.peers[1], 10, 0)).values() == expected(t.job, 2, 0, 0)));
  t.push(0, 1, 0);
  CHECK(t.shard.reply(t.shard.pull(t.peers[1], 10, 0)).failed(Code::unknown_version));
  CHECK((t.shard.reply(t.shard.pull(t.peers[1], 10, 1)).values() == expected(t.job, 2, 1, 0)));
}

TEST_CASE("rounds: a trainer that is lost", "[pserver]") {
  const QuietLog quiet;
  ShardOptions options{.leases = {.lease_seconds = 10, .reconnect_seconds = 2}};
  SECTION("is waited for") {
    options.leases.lease_seconds = 1000;
    Trainers t({.sizes = {50}, .trainers = 2}, options);
    const uint64_t open = t.push(0, 0, 0);
    t.shard.close(t.peers[1]);
    for (int i = 0; i < 60; ++i) t.shard.tick();
    CHECK(!t.shard.answered(open));
    CHECK_THAT(t.shard.shard.status(t.shard.now).waiting, Contains("trainer 1 of 2: lost"));
    t.peers[1] = t.shard.greet(1, 2, wire::Mode::sync, 77);
    t.shard.say(t.peers[1], wire::Join{0, 0});
    t.push(1, 0, 0);
    CHECK((t.shard.reply(open).values() == expected(t.job, 2, 1, 0)));
  }
  SECTION("is dropped, and what it sent before counts") {
    options.leases.policy = LossPolicy::drop;
    Trainers t({.sizes = {50, 50}, .trainers = 2}, options);
    const uint64_t first = t.push(1, 0, 0);
    t.push(0, 0, 0);
    const uint64_t second = t.push(0, 0, 1);
    CHECK(t.shard.answered(first));
    CHECK(!t.shard.answered(second));
    t.shard.close(t.peers[1]);
    t.shard.tick(1);
    CHECK(!t.shard.answered(second));
    t.shard.tick(2);
    CHECK(t.shard.answered(second));
    CHECK((t.shard.reply(t.shard.pull(t.peers[0], 10, 1)).values() == expected(t.job, 2, 1, 0)));
    CHECK((t.shard.reply(t.shard.pull(t.peers[0], 11, 1)).values() == expected(t.job, 1, 1, 1)));
  }
  SECTION("ends the job") {
    options.leases.policy = LossPolicy::fail;
    Trainers t({.sizes = {50}, .trainers = 2}, options);
    const uint64_t open = t.push(0, 0, 0);
    t.shard.close(t.peers[1]);
    t.shard.tick(3);
    CHECK(t.shard.reply(open).failed(Code::job_failed));
    t.shard.close(t.peers[0]);
    CHECK_THAT(t.shard.shard.failure(), Contains("trainer 1 (host:1001) was lost"));
    CHECK(t.shard.shard.status(t.shard.now).state == wire::ShardState::empty);
  }
}

// The values are those of trainer 1 in the middle of the job: they hold steps of trainer 0, and
// this pserver does not know how many.
TEST_CASE("async: a shard with another trainer's values knows nothing of the steps", "[pserver]") {
  const QuietLog quiet;
  PlainShard shard;
  const SmallJob job = small_job({.sizes = {50}, .trainers = 2});
  shard.configure(shard.greet(1, 2, wire::Mode::async), job, true);
  uint64_t incarnation = 70;
  PeerId peer = 0;
  const auto welcome = [&] {
    peer = shard.greet(0, 2, wire::Mode::async, ++incarnation);
    return std::get<wire::Welcome>(shard.last_reply().body);
  };
  wire::Welcome w = welcome();
  CHECK(w.slices[0].last_step == wire::unknown_steps);
  CHECK(w.forgot);
  const uint64_t joins_at = GENERATE(0, 5);
  shard.say(peer, wire::Join{0, joins_at});
  SECTION("until the first push, also where one that has joined dies") {
    shard.close(peer);
    w = welcome();
    CHECK(w.slices[0].last_step == joins_at);
    CHECK(w.forgot);
    shard.say(peer, wire::Join{0, joins_at + 1});  // what it has sent again still counts
    shard.push(peer, joins_at, {{10, gradients(0, 0, 0, 50)}});
    CHECK(shard.last_reply().parts[0].version == 1);
    shard.close(peer);
    w = welcome();
    CHECK(w.slices[0].last_step == joins_at + 1);
    CHECK_FALSE(w.forgot);
  }
  SECTION("and takes nothing from before the step with which it joined") {
    if (joins_at == 0) return;
    shard.push(peer, joins_at - 1, {{10, gradients(0, 0, 0, 50)}});
    CHECK(shard.last_reply().parts[0].version == 0);
  }
}

TEST_CASE("async: a shard says which processes its values came from", "[pserver]") {
  const QuietLog quiet;
  using Origins = std::vector<wire::Origin>;
  MemoryDisk disk;
  const ShardOptions options{.snapshots = {.directory = "memory", .period = 2, .keep = 3}};
  const auto welcome = [](PlainShard& shard) {
    shard.greet(0, 2, wire::Mode::async);
    return std::get<wire::Welcome>(shard.last_reply().body);
  };
  const SmallJob job = small_job({.sizes = {50}, .trainers = 2});
  {
    PlainShard made;
    made.configure(made.greet(1, 2, wire::Mode::async), job);
    CHECK(welcome(made).origins.empty());
  }
  {
    PlainShard given(options, &disk);
    const PeerId peer = given.greet(1, 2, wire::Mode::async);
    given.configure(peer, job, true);
    CHECK(welcome(given).origins == Origins{{5, 3}});
    given.say(peer, wire::Join{0, 0});
    for (uint64_t step = 0; step < 3; ++step)
      given.push(peer, step, {{10, gradients(1, step, 0, 50)}});
  }
  PlainShard returned(options, &disk);
  const wire::Welcome w = welcome(returned);
  CHECK(w.base == 2);
  CHECK(w.origins == Origins{{5, 3}, {1, 2}});  // 1 is the process that wrote the snapshot
}

TEST_CASE("async: who has finished waits for a lost trainer until the deadline", "[pserver]") {
  const QuietLog quiet;
  Trainers t({.trainers = 2}, {.leases = {.lease_seconds = 2}, .peer_timeout = 30}, nullptr,
             wire::Mode::async);
  t.shard.close(t.peers[1]);
  for (int i = 0; i < 60; ++i) {  // trainer 0 works on: nobody waits
    t.shard.say(t.peers[0], wire::Pull{});
    t.shard.tick();
  }
  CHECK(t.shard.shard.failure().empty());
  t.shard.say(t.peers[0], wire::Complete{wire::Phase::finished});
  for (int i = 0; i < 25; ++i) t.shard.tick();
  CHECK(t.shard.shard.failure().empty());
  for (int i = 0; i < 10; ++i) t.shard.tick();
  CHECK_THAT(t.shard.shard.failure(),
             Contains("(--peer_timeout): waiting for trainer 1 of 2: lost"));
}

TEST_CASE("rounds: a shard that returns from a snapshot gives the same bits", "[pserver]") {
  const QuietLog quiet;
  const SmallJobOptions small{.rule = "adam", .sizes = {5, 700}, .trainers = 2, .decays = true};
  MemoryDisk disk;
  const ShardOptions options{.snapshots = {.directory = "memory", .period = 2, .keep = 3}};
  {
    Trainers t(small, options, &disk);
    for (uint64_t step = 0; step < 5; ++step)
      for (const uint32_t trainer : {1u, 0u})
        for (size_t s = 0; s < 2; ++s) t.push(trainer, step, s);
    CHECK(t.shard.shard.status(t.shard.now).snapshots == std::vector<uint64_t>{0, 2, 4});
  }
  PlainShard shard(options, &disk);
  CHECK(shard.shard.status(shard.now).step == 4);
  std::vector<PeerId> peers = {shard.greet(0), shard.greet(1)};
  for (const PeerId p : peers) shard.say(p, wire::Join{0, 4});
  const SmallJob job = small_job(small);
  for (uint64_t step = 4; step < 6; ++step)
    for (uint32_t s = 0; s < 2; ++s) {
      const int64_t n = s == 0 ? 5 : 700;
      shard.push(peers[1], step, {{10 + s, gradients(1, step, s, n)}});
      const uint64_t id = shard.push(peers[0], step, {{10 + s, gradients(0, step, s, n)}});
      CHECK((shard.reply(id).values() == expected(job, 2, step + 1, s)));
    }
  const uint64_t back = shard.say(peers[0], wire::Rollback{1, 2});
  CHECK(shard.reply(back).is<wire::Ack>());
  CHECK(shard.shard.status(shard.now).snapshots == std::vector<uint64_t>{2});
  CHECK(shard.shard.status(shard.now).epoch == 1);
}

TEST_CASE("rounds: updates wait for a disk that is slower than the snapshots", "[pserver]") {
  const QuietLog quiet;
  MemoryDisk disk;
  Trainers t({.sizes = {5}, .trainers = 1},
             {.snapshots = {.directory = "memory", .period = 1, .keep = 3}}, &disk);
  t.shard.disk_reports = false;
  CHECK(t.shard.answered(t.push(0, 0, 0)));
  CHECK(t.shard.answered(t.push(0, 1, 0)));
  const uint64_t waits = t.push(0, 2, 0);
  CHECK(!t.shard.answered(waits));
  t.shard.disk_reports = true;
  t.shard.tick();
  CHECK(t.shard.answered(waits));
  CHECK((t.shard.reply(waits).values() == expected(t.job, 1, 3, 0)));
}

TEST_CASE("rounds: a store of many slices is built in steps", "[pserver]") {
  const QuietLog quiet;
  Trainers t({.rule = "adam", .sizes = std::vector<int64_t>(700, 4), .trainers = 1});
  CHECK(t.shard.proceeded >= 2);
  CHECK(t.shard.shard.status(t.shard.now).state == wire::ShardState::ready);
  CHECK((t.shard.reply(t.push(0, 0, 650)).values() == expected(t.job, 1, 1, 650)));
}
