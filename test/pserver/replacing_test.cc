// Who may take the place of whom: a process that joins again, and one that replaces another.
#include <catch2/catch.hpp>

#include "pserver/plain_shard.h"
#include "support/quiet_log.h"

using namespace paddle;
using Catch::Contains;
using Code = wire::FailureCode;

namespace {

struct Pair {
  explicit Pair(ShardOptions o = {}) : shard(std::move(o)) {
    for (const uint32_t t : {0u, 1u}) {
      data[t] = shard.greet(t);
      if (t == 0) shard.configure(data[0], job);
      beat[t] = greet_as(t, 1000 + t, 0, wire::Role::beat);
      shard.say(data[t], wire::Join{});
      heartbeat(t);
    }
  }
  PeerId greet_as(uint32_t trainer, uint64_t process, uint32_t renewal,
                  wire::Role role = wire::Role::trainer) {
    wire::Hello h = PlainShard::hello(trainer);
    h.incarnation = process;
    h.renewal = renewal;
    h.role = role;
    return shard.greet(h);
  }
  void heartbeat(uint32_t trainer) {
    shard.say(beat[trainer], wire::Progress{.echo = answered[trainer]});
    if (const auto* ack = std::get_if<wire::BeatAck>(&shard.last_reply().body))
      answered[trainer] = ack->number;
  }
  bool welcome() { return shard.last_reply().is<wire::Welcome>(); }
  bool closed(PeerId peer) const {
    return std::count(shard.closed.begin(), shard.closed.end(), peer) > 0;
  }

  QuietLog quiet;
  SmallJob job = small_job({.sizes = {5}, .trainers = 2});
  PlainShard shard;
  PeerId data[2]{}, beat[2]{};
  uint64_t answered[2]{};
};

}  // namespace

// Another shard ended its lease, and this one has not heard yet of the end of its connections.
TEST_CASE("a trainer that joins again is not kept out by its own past", "[pserver]") {
  Pair p;
  const PeerId again = p.greet_as(1, 1001, 1);
  CHECK(p.welcome());
  CHECK(p.closed(p.data[1]));
  CHECK(p.closed(p.beat[1]));
  CHECK(!p.closed(p.data[0]));
  SECTION("and takes part as before") {
    p.shard.say(again, wire::Join{});
    CHECK(p.shard.last_reply().is<wire::Ack>());
    const uint64_t first = p.shard.push(p.data[0], 0, {{10, gradients(0, 0, 0, 5)}});
    const uint64_t second = p.shard.push(again, 0, {{10, gradients(1, 0, 0, 5)}});
    CHECK((p.shard.reply(first).values() == expected(p.job, 2, 1, 0)));
    CHECK(p.shard.answered(second));
  }
  SECTION("a heartbeat of before changes nothing") {
    p.greet_as(1, 1001, 0, wire::Role::beat);
    CHECK(p.shard.last_reply().failed(Code::expired));
    CHECK(!p.closed(again));
    p.greet_as(1, 1001, 1, wire::Role::beat);
    CHECK(p.welcome());
  }
}

TEST_CASE("a replacement for a trainer that vanished joins when the lease has ended", "[pserver]") {
  Pair p;
  const Time begin = p.shard.now;
  p.greet_as(1, 7, 0);
  CHECK(p.shard.last_reply().failed(Code::wait));
  CHECK_THAT(p.shard.last_failure(), Contains("trainer 1 is host:1001, silent for"));
  while (!p.welcome() && seconds(begin, p.shard.now) < 60) {
    p.shard.tick(0.5);
    p.heartbeat(0);
    p.greet_as(1, 7, 0);
    REQUIRE((p.welcome() || p.shard.last_reply().failed(Code::wait)));
  }
  CHECK(p.welcome());
  CHECK(seconds(begin, p.shard.now) < 12);
}

// Its kernel, or a pserver that was stopped for a while, delivers what the dead process had sent.
TEST_CASE("heartbeats of a killed trainer that arrive late keep nobody out", "[pserver]") {
  Pair p;
  for (int i = 0; i < 6; ++i) {
    p.greet_as(1, 7, 0);
    REQUIRE(p.shard.last_reply().failed(Code::wait));
    p.shard.say(p.beat[1], wire::Progress{.echo = p.answered[1]});
    p.shard.tick(1);
    p.heartbeat(0);
  }
  p.shard.close(p.beat[1]);
  p.shard.close(p.data[1]);
  p.greet_as(1, 7, 0);
  CHECK(p.welcome());
}

TEST_CASE("a second living trainer with the same id is refused within seconds", "[pserver]") {
  Pair p;
  const Time begin = p.shard.now;
  do {
    p.shard.tick(0.5);
    for (const uint32_t t : {0u, 1u}) p.heartbeat(t);
    p.greet_as(1, 7, 0);
  } while (p.shard.last_reply().failed(Code::wait) && seconds(begin, p.shard.now) < 60);
  CHECK(p.shard.last_reply().failed(Code::id_taken));
  CHECK_THAT(p.shard.last_failure(), Contains("trainer 1 is host:1001, connected"));
  CHECK(seconds(begin, p.shard.now) < 5);
  CHECK(!p.closed(p.data[1]));
}

// SIGSTOP and SIGCONT, or a virtual machine that was paused.
TEST_CASE("a pserver that stood still does not blame the trainers", "[pserver]") {
  Pair p(ShardOptions{.leases = {.policy = LossPolicy::drop}});
  p.shard.tick(1);
  p.shard.tick(20);
  for (const uint32_t t : {0u, 1u}) {
    CHECK(!p.closed(p.data[t]));
    p.heartbeat(t);
    CHECK(p.shard.last_reply().is<wire::BeatAck>());
  }
  for (int i = 0; i < 11; ++i) p.shard.tick(1);  // but whoever stays silent is lost
  CHECK(p.closed(p.data[1]));
}

// Its machine is gone, so nobody hears of the end of its connections.
TEST_CASE("nobody waits for ever for a trainer that vanished after it had finished", "[pserver]") {
  Pair p(ShardOptions{.peer_timeout = 60});
  for (const PeerId peer : p.data) p.shard.say(peer, wire::Complete{wire::Phase::finished});
  const auto failure = [&](uint32_t witness) {
    p.heartbeat(witness);
    const auto* ack = std::get_if<wire::BeatAck>(&p.shard.last_reply().body);
    return ack ? ack->failure : "";
  };
  SECTION("not where trainer 0 has to save: the job ends with a sentence") {
    for (int i = 0; i < 55; ++i) {
      p.shard.tick(1);
      REQUIRE(failure(1).empty());
    }
    for (int i = 0; i < 10; ++i) p.shard.tick(1);
    CHECK_THAT(failure(1), Contains("trainer 0 has finished, and went away before it saved"));
  }
  SECTION("and not for another one: the job is done") {
    p.shard.say(p.data[0], wire::Complete{wire::Phase::bye});
    for (int i = 0; i < 15; ++i) p.shard.tick(1);
    p.shard.greet(0);
    CHECK(p.shard.last_reply().failed(Code::job_over));
  }
}

TEST_CASE("who is refused binds nobody", "[pserver]") {
  const QuietLog quiet;
  const SmallJob wrong = small_job({.rule = "momentum", .sizes = {5}, .trainers = 2});
  const SmallJob right = small_job({.sizes = {5}, .trainers = 2});
  PlainShard shard({.own = {.check = [](const StoreConfig& c) {
                      return c.variables.size() == 2 ? "" : "there must be two";
                    }}});
  wire::Hello h = PlainShard::hello(0);
  h.program = "wrong";
  SECTION("but it does until its configuration was refused") {
    shard.greet(h);
    shard.greet(PlainShard::hello(1));
    CHECK(shard.last_reply().failed(Code::refused));
  }
  SECTION("after its configuration was refused, though it stays connected") {
    const PeerId bad = shard.greet(h);
    const wire::Hello other = PlainShard::hello(1);
    shard.configure(bad, wrong);
    const PeerId good = shard.greet(other);
    CHECK(shard.last_reply().is<wire::Welcome>());
    CHECK(shard.closed == std::vector<PeerId>{bad});
    shard.configure(good, right);
    CHECK(shard.last_reply().is<wire::Ack>());
    shard.greet(h);  // now it is the one that does not fit
    CHECK(shard.last_reply().failed(Code::refused));
  }
  SECTION("nor one whose values do not fit") {
    const PeerId bad = shard.greet(h);
    wire::Configure c{.values_digest = "init", .program = to_flatbuffer(right.config.program)};
    for (const SliceInfo& s : right.config.slices)
      c.slices.push_back({s.id, s.name, s.grad, s.block});
    for (const KeptVariable& v : right.config.variables)
      c.variables.push_back(
          {v.name, static_cast<uint8_t>(v.dtype), {v.shape.begin(), v.shape.end()}});
    shard.say(bad, c);
    shard.say(bad, wire::SetValue{0, 0, 0, true});
    CHECK(shard.last_reply().failed(Code::protocol));
    shard.greet(1);
    CHECK(shard.last_reply().is<wire::Welcome>());
  }
  SECTION("nor one whose id is not possible") {
    h.trainer = 9;
    shard.greet(h);
    CHECK(shard.last_reply().failed(Code::refused));
    shard.greet(0);
    CHECK(shard.last_reply().is<wire::Welcome>());
  }
}

TEST_CASE("a job that goes back again and again to the same step ends", "[pserver]") {
  const QuietLog quiet;
  MemoryDisk disk;
  PlainShard shard({.snapshots = {.period = 2}}, &disk);
  const SmallJob job = small_job({.sizes = {5}});
  PeerId peer = shard.greet(0, 1);
  shard.configure(peer, job);
  shard.say(peer, wire::Join{});
  const auto steps = [&](uint64_t epoch, uint64_t from, uint64_t to) {
    for (uint64_t n = from; n < to; ++n)
      shard.push(peer, n, {{10, gradients(0, n, 0, 5)}}, true, epoch);
  };
  steps(0, 0, 3);
  REQUIRE(disk.kept.count(2) == 1);
  const auto go_back = [&](uint64_t epoch) { shard.say(peer, wire::Rollback{epoch, 2}); };
  const auto again = [&] {  // the store is another one, and the connection may have ended with it
    peer = shard.greet(0, 1);
  };
  SECTION("where no step is completed in between") {
    for (uint64_t epoch = 1; epoch <= 5; ++epoch) {
      go_back(epoch);
      REQUIRE(shard.last_reply().is<wire::Ack>());
      again();
    }
    go_back(6);
    CHECK(shard.last_reply().failed(Code::job_failed));
    CHECK_THAT(shard.last_failure(), Contains("went back to step 2 for the 6th time"));
    again();
    go_back(7);
    CHECK(shard.last_reply().failed(Code::job_failed));
  }
  SECTION("not where there is progress") {
    for (uint64_t epoch = 1; epoch <= 12; ++epoch) {
      go_back(epoch);
      REQUIRE(shard.last_reply().is<wire::Ack>());
      again();
      shard.say(peer, wire::Join{epoch, 2});
      steps(epoch, 2, 3);
    }
  }
}
