// A job that ended, and who may begin it anew.
#include "pserver/last_job.h"

#include <catch2/catch.hpp>

#include "pserver/plain_shard.h"
#include "support/quiet_log.h"

using namespace paddle;
using Catch::Contains;
using Code = wire::FailureCode;

namespace {

// The job 'job' of two trainers ran on it, and has ended.
struct Ended {
  explicit Ended(MemoryDisk* disk = nullptr) : shard({}, disk) {
    PeerId peers[] = {shard.greet(0), shard.greet(1)};
    shard.configure(peers[0], small_job({.sizes = {5}, .trainers = 2}));
    for (const PeerId p : peers) shard.say(p, wire::Join{});
    for (const PeerId p : peers) shard.say(p, wire::Complete{wire::Phase::bye});
  }
  // Whether a restarted trainer is let in; it comes as another process.
  bool restarts(uint32_t trainer, bool new_job = false, uint32_t trainers = 2) {
    return restarts(shard, trainer, new_job, trainers);
  }
  static bool restarts(PlainShard& at, uint32_t trainer, bool new_job = false,
                       uint32_t trainers = 2) {
    wire::Hello h = PlainShard::hello(trainer, trainers);
    h.incarnation = 50 + trainer;
    h.new_job = new_job;
    at.greet(h);
    return at.last_reply().is<wire::Welcome>();
  }
  bool told_to_wait() { return shard.last_reply().failed(Code::wait); }

  QuietLog quiet;
  PlainShard shard;
};

}  // namespace

TEST_CASE("a trainer that comes after the end of its job does not begin it alone", "[pserver]") {
  Ended e;
  e.shard.pass(12);
  CHECK(!e.restarts(1));
  CHECK(e.told_to_wait());
  CHECK_THAT(e.shard.last_failure(), Contains("the job 'job' ended 12 s ago") &&
                                         Contains("all 2 trainers are started again (1 is here)") &&
                                         Contains("--new_job"));
  SECTION("it is refused when the others do not come") {
    for (int i = 0; i < 100 && e.told_to_wait(); ++i) {
      e.shard.tick(1);
      CHECK(!e.restarts(1));
    }
    CHECK(e.shard.last_reply().failed(Code::refused));
    CHECK_THAT(e.shard.last_failure(), Contains("the job 'job' ended 43 s ago") &&
                                           Contains("of 2 trainers only 1 was started again") &&
                                           Contains("--new_job or another --job_name"));
  }
  SECTION("all of them are a new start") {
    e.shard.tick(3);
    CHECK(e.restarts(0));
    CHECK(e.restarts(1));
  }
  SECTION("the same one twice is not") {
    e.shard.tick(1);
    CHECK(!e.restarts(1));
    CHECK(e.told_to_wait());
  }
  SECTION("one that gave up does not count") {
    e.shard.tick(20);
    CHECK(!e.restarts(0));
  }
  SECTION("with --new_job it begins at once, and the others follow") {
    CHECK(e.restarts(1, true));
    CHECK(e.restarts(0));
  }
  SECTION("other jobs are not concerned") { CHECK(e.restarts(0, false, 3)); }
  SECTION("after peer_timeout nothing is remembered") {
    e.shard.tick(600);
    CHECK(e.restarts(1));
  }
  SECTION("but who came before that gets the same answer as ever") {
    e.shard.tick(570);
    do {
      CHECK(!e.restarts(1));
      e.shard.tick(1);
    } while (e.told_to_wait());
    CHECK(e.shard.last_reply().failed(Code::refused));
  }
}

TEST_CASE("a process that took part in a job learns that it has ended", "[pserver]") {
  Ended e;
  e.shard.greet(1);
  CHECK(e.shard.last_reply().failed(Code::job_over));
  CHECK_THAT(e.shard.last_failure(), Contains("the job 'job' ended"));
  SECTION("and its heartbeat begins no new one") {
    wire::Hello h = PlainShard::hello(1);
    h.role = wire::Role::beat;
    e.shard.greet(h);
    CHECK(e.shard.last_reply().failed(Code::stale_epoch));
    CHECK(!e.restarts(1));
    CHECK(e.told_to_wait());
  }
}

TEST_CASE("a job of one trainer may be run again at once", "[pserver]") {
  const QuietLog quiet;
  PlainShard shard;
  const PeerId first = shard.greet(0, 1);
  shard.configure(first, small_job({.sizes = {5}}));
  shard.say(first, wire::Complete{wire::Phase::bye});
  CHECK(Ended::restarts(shard, 0, false, 1));
}

TEST_CASE("the snapshot directory remembers the end of a job", "[pserver]") {
  MemoryDisk disk;
  {
    Ended e(&disk);
    REQUIRE(disk.has_ended);
  }
  const QuietLog quiet;
  disk.last->seconds_ago = 20;
  PlainShard next({}, &disk);
  CHECK(!Ended::restarts(next, 1));
  CHECK_THAT(next.last_failure(), Contains("the job 'job' ended 20 s ago"));
  CHECK(Ended::restarts(next, 0));
}

// The pserver is killed when trainer 0 has left and the others have not heard of it yet.
TEST_CASE("the snapshot directory remembers that trainer 0 has saved", "[pserver]") {
  const QuietLog quiet;
  MemoryDisk disk;
  bool rejoins = false;
  const auto train = [&](PlainShard& shard, bool all_finish) {
    PeerId peers[] = {shard.greet(0), shard.greet(1)};
    shard.configure(peers[0], small_job({.sizes = {5}, .trainers = 2}));
    for (const PeerId p : peers) shard.say(p, wire::Join{});
    shard.say(peers[0], wire::Complete{wire::Phase::finished});
    if (all_finish) {
      shard.say(peers[1], wire::Complete{wire::Phase::finished});
      if (rejoins) shard.say(peers[1], wire::Join{});  // its connections broke
    }
    CHECK(!disk.has_ended);
    shard.say(peers[0], wire::Complete{wire::Phase::bye});
  };
  wire::Hello h = PlainShard::hello(1);
  h.finished = true;
  rejoins = GENERATE(false, true);
  SECTION("who had finished learns that the job is over") {
    {
      PlainShard shard({}, &disk);
      train(shard, true);
      CHECK(disk.has_ended);
    }
    PlainShard next({}, &disk);
    next.greet(h);
    CHECK(next.last_reply().failed(Code::job_over));
  }
  SECTION("not while somebody still works") {
    PlainShard shard({}, &disk);
    train(shard, false);
    CHECK(!disk.has_ended);
  }
}

// It came back from an older snapshot, or empty: it does not know that the others had finished.
TEST_CASE("a pserver that was lost learns the end of its job from trainer 0", "[pserver]") {
  const QuietLog quiet;
  MemoryDisk disk;
  const bool result = GENERATE(true, false);
  {
    PlainShard shard({}, &disk);
    const PeerId peers[] = {shard.greet(0), shard.greet(1)};
    shard.configure(peers[0], small_job({.sizes = {5}, .trainers = 2}));
    for (const PeerId p : peers) shard.say(p, wire::Join{});
    shard.say(peers[0], wire::Complete{wire::Phase::bye, 0, result});
    CHECK(disk.has_ended == result);
    // A new process of trainer 1, which does not know that it had finished.
    shard.close(peers[1]);
    const PeerId again = shard.greet(1, 2, wire::Mode::sync, 2000);
    const auto* welcome = std::get_if<wire::Welcome>(&shard.last_reply().body);
    REQUIRE(welcome != nullptr);
    CHECK(welcome->result == result);
    shard.say(again, wire::Join{});
    CHECK(shard.last_reply().failed(Code::stale_epoch) == result);
    shard.say(again, wire::Rollback{1, 0});
    CHECK(shard.last_reply().failed(Code::stale_epoch) == result);
  }
  PlainShard next({}, &disk);
  wire::Hello h = PlainShard::hello(1);
  h.finished = true;
  next.greet(h);
  CHECK(next.last_reply().failed(Code::job_over) == result);
}

TEST_CASE("the end of a job as text", "[pserver]") {
  const EndedJob job{.job = "a job", .program = "abc", .trainers = 7};
  const std::string content = write_ended_job(job, 1000);
  const auto back = read_ended_job(content, 1060);
  REQUIRE(back);
  CHECK(back->job == "a job");
  CHECK(back->program == "abc");
  CHECK(back->trainers == 7);
  CHECK(back->seconds_ago == 60);
  CHECK(read_ended_job(content, 10)->seconds_ago == 0);  // a clock that was set back
  CHECK(!read_ended_job("", 1060));
  for (size_t n = 0; n + 2 < content.size(); ++n) read_ended_job(content.substr(0, n), 1060);
}
