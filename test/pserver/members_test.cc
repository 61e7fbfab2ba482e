#include "pserver/members.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "base/log.h"
#include "support/pseudo_terminal.h"

using namespace paddle;
using Catch::Contains;
using Verdict = Members::Admission::Verdict;

namespace {

struct Room {
  Pipe pipe;  // keeps the log off the test's output
  Time now = Time{} + std::chrono::hours(1);
  Members members;

  explicit Room(LossPolicy policy, uint32_t trainers = 2)
      : members({.trainers = trainers, .policy = policy}, now) {
    start_log({.descriptor = pipe.device()});
  }
  ~Room() { start_log({}); }
  void pass(double seconds) {
    now += std::chrono::duration_cast<Time::duration>(std::chrono::duration<double>(seconds));
  }
  Members::Admission greet(uint32_t trainer, uint64_t incarnation, bool takes_id = false) {
    const auto a =
        members.admit({trainer, takes_id, incarnation, "host:" + std::to_string(incarnation)}, now);
    if (a.verdict == Verdict::admitted) members.opened(a.trainer, now);
    return a;
  }
  std::vector<uint32_t> lost() {
    std::vector<uint32_t> out;
    for (const Loss& l : members.expire(now)) out.push_back(l.trainer);
    return out;
  }
  void join(uint32_t trainer, uint64_t incarnation, uint64_t step = 0) {
    REQUIRE(greet(trainer, incarnation).verdict == Verdict::admitted);
    members.join(trainer, step, now);
  }
};

}  // namespace

TEST_CASE("members: ids", "[pserver]") {
  Room room(LossPolicy::wait);
  Members& m = room.members;
  room.join(0, 100);

  SECTION("a second process with the same id is refused and told of the first") {
    room.pass(75);
    const auto a = room.greet(0, 200);
    CHECK(a.verdict == Verdict::refused);
    CHECK_THAT(a.why, Contains("trainer 0 is host:100, connected 1:15 ago"));
    CHECK(m.holds(0, 100));
  }
  SECTION("it takes over when the connections of the first are gone") {
    m.closed(0, 100, room.now);
    CHECK(room.greet(0, 200).verdict == Verdict::admitted);
    CHECK(m.holds(0, 200));
    CHECK(m[0].state == MemberState::absent);
    m.closed(0, 100, room.now);  // late news of the old one
    CHECK(m[0].connections == 1);
  }
  SECTION("it takes over when the first is lost") {
    room.pass(11);
    CHECK(room.lost() == std::vector<uint32_t>{0});
    CHECK(room.greet(0, 200).verdict == Verdict::admitted);
  }
  SECTION("ids outside of the job are refused") {
    CHECK_THAT(room.greet(2, 300).why, Contains("trainer_id 2 is not one of the 2"));
  }
  SECTION("the first free one is given") {
    const auto a = room.greet(0, 200, true);
    CHECK(a.trainer == 1);
    CHECK(room.greet(0, 200, true).trainer == 1);
    const auto none = room.greet(0, 300, true);
    CHECK(none.verdict == Verdict::refused);
    CHECK_THAT(none.why, Contains("all 2 trainer ids are taken"));
  }
  SECTION("one whose holder is between two connections is given last") {
    m.closed(0, 100, room.now);
    CHECK(room.greet(0, 200, true).trainer == 1);
    CHECK(room.greet(0, 300, true).trainer == 0);
  }
}

TEST_CASE("members: wait", "[pserver]") {
  Room room(LossPolicy::wait);
  Members& m = room.members;
  CHECK(m.required(m[0], 0));
  CHECK(m.required(m[1], 0));
  room.pass(12);
  CHECK(m.waiting_for(1, 0, room.now, room.now) ==
        "waiting for trainer 1 of 2: not joined yet (12 s)");
  room.join(0, 100);
  room.join(1, 200);

  SECTION("a lease ends when nothing is heard") {
    room.pass(6);
    m.heard(0, room.now);
    room.pass(6);
    CHECK(room.lost() == std::vector<uint32_t>{1});
    CHECK(room.lost().empty());
    CHECK(m.required(m[1], 5));
    CHECK_THAT(room.pipe.read(), Contains("trainer 1 (host:200) is lost: nothing heard for 12 s; "
                                          "rounds wait for its return"));
    CHECK_THAT(m.waiting_for(1, 5, room.now, room.now), Contains("lost, host:200 said nothing"));
  }
  SECTION("and sooner when the connections closed") {
    m.closed(1, 200, room.now);
    room.pass(1.5);
    m.heard(0, room.now);
    CHECK(room.lost().empty());
    room.pass(1);
    CHECK(room.lost() == std::vector<uint32_t>{1});
  }
  SECTION("the same process may return") {
    room.pass(11);
    m.heard(0, room.now);
    room.lost();
    CHECK(room.greet(1, 200).verdict == Verdict::admitted);
    m.join(1, 3, room.now);
    CHECK(m.required(m[1], 3));
  }
  SECTION("who has finished leaves the rounds") {
    m.finish(1, room.now);
    CHECK(!m.required(m[1], 9));
    CHECK(m.finished() == 1);
    room.pass(100);
    m.heard(0, room.now);
    CHECK(room.lost().empty());
    CHECK(!m.all_done(room.now));
    m.leave(0, room.now);
    CHECK(!m.all_done(room.now));
    m.closed(1, 200, room.now);
    CHECK(!m.all_done(room.now));  // it may return
    room.pass(3);
    CHECK(m.all_done(room.now));
  }
  SECTION("a round names whom it lacks and since when") {
    room.pass(4);
    CHECK(m.waiting_for(1, 17, room.now - std::chrono::seconds(3), room.now) ==
          "waiting for trainer 1 of 2: its gradient of step 17, host:200 (3 s)");
    CHECK(m.waiting_for(1, 17, room.now - std::chrono::milliseconds(300), room.now) ==
          "waiting for trainer 1 of 2: its gradient of step 17, host:200 (under 1 s)");
  }
}

TEST_CASE("members: drop", "[pserver]") {
  Room room(LossPolicy::drop);
  Members& m = room.members;
  CHECK(m.required(m[1], 0));  // the start waits for everybody
  room.join(0, 100);
  room.join(1, 200);
  room.pass(11);
  m.heard(0, room.now);
  CHECK(room.lost() == std::vector<uint32_t>{1});
  CHECK(!m.required(m[1], 4));
  CHECK_THAT(room.pipe.read(), Contains("the others go on without it"));

  SECTION("the old incarnation is fenced, a new one joins later rounds") {
    CHECK(room.greet(1, 200).verdict == Verdict::expired);
    CHECK(room.greet(1, 201).verdict == Verdict::admitted);
    CHECK(!m.required(m[1], 4));
    m.join(1, 6, room.now);
    CHECK(!m.required(m[1], 5));
    CHECK(m.required(m[1], 6));
  }
  SECTION("a job whose last trainers are lost is not done") {
    room.pass(11);
    CHECK(room.lost() == std::vector<uint32_t>{0});
    CHECK(!m.all_done(room.now));
  }
  SECTION("a job is done without those who were lost") {
    m.finish(0, room.now);
    CHECK(m.finished() == 2);  // the first trainer, who saves, waits for them no longer
    m.leave(0, room.now);
    CHECK(m.all_done(room.now));
  }
}

TEST_CASE("members: fail", "[pserver]") {
  Room room(LossPolicy::fail);
  Members& m = room.members;
  room.join(0, 100);
  room.join(1, 200);
  m[1].last_error = "out of memory";
  m.closed(1, 200, room.now);
  room.pass(3);
  m.heard(0, room.now);
  const auto lost = m.expire(room.now);
  REQUIRE(lost.size() == 1);
  CHECK_THAT(lost[0].why, Contains("(its connections closed 3 s ago)") &&
                              Contains("--on_trainer_loss=fail ends the job") &&
                              Contains("its last words: out of memory"));
}

TEST_CASE("members: a restart that fails before it joins is a loss too", "[pserver]") {
  Room room(LossPolicy::drop);
  Members& m = room.members;
  room.join(0, 100);
  room.join(1, 200);
  m.closed(1, 200, room.now);
  CHECK(room.greet(1, 201).verdict == Verdict::admitted);
  CHECK(m.required(m[1], 3));
  m.closed(1, 201, room.now);
  room.pass(3);
  m.heard(0, room.now);
  CHECK(room.lost() == std::vector<uint32_t>{1});
  CHECK(!m.required(m[1], 3));
}

TEST_CASE("words of policies", "[pserver]") {
  CHECK(loss_policy_of("drop") == LossPolicy::drop);
  CHECK_THROWS_WITH(loss_policy_of("x"), Contains("wait, drop or fail, not 'x'"));
}

TEST_CASE("members: trainers are added and removed by id", "[pserver]") {
  Room room(LossPolicy::wait, 2);
  Members& m = room.members;
  m.begin_again(3, room.now);
  m.add(5, room.now);
  CHECK(m.has(5));
  CHECK(!m.has(2));
  CHECK(m[5].steps.size() == 3);
  CHECK(m.required(m[5], 0));
  m.remove(0);
  CHECK(!m.has(0));
  CHECK(m.all().front().id == 1);
  CHECK(m[5].id == 5);
  CHECK(room.greet(0, 100).verdict == Verdict::refused);
  CHECK(room.greet(5, 100).verdict == Verdict::admitted);
}
