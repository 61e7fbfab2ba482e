#include <catch2/catch.hpp>
#include <map>

#include "base/error.h"
#include "base/log.h"
#include "pserver/admission.h"
#include "support/pseudo_terminal.h"

using namespace paddle;
using Catch::Contains;
using Verdict = Admission::Verdict;

namespace {

struct Room {
  Pipe pipe;  // keeps the log off the test's output
  Time now = Time{} + std::chrono::hours(1);
  Members members;
  Admissions admissions;
  std::map<uint32_t, uint64_t> answered;  // the number that each has seen

  explicit Room(LossPolicy policy, uint32_t trainers = 2)
      : members({.trainers = trainers, .leases = {.policy = policy}}, now) {
    start_log({.descriptor = pipe.device()});
  }
  ~Room() { start_log({}); }
  void pass(double seconds) {
    now += std::chrono::duration_cast<Time::duration>(std::chrono::duration<double>(seconds));
  }
  Admission greet(uint32_t trainer, uint64_t process, bool takes_id = false, uint32_t renewal = 0) {
    const auto a = admissions.admit(
        members, {trainer, takes_id, {process, renewal}, "host:" + std::to_string(process)}, now);
    if (a.verdict == Verdict::admitted) members[a.trainer].holder.opened(now);
    return a;
  }
  std::vector<uint32_t> lost() {
    std::vector<uint32_t> out;
    for (const Loss& l : members.expire(now)) out.push_back(l.trainer);
    return out;
  }
  void join(uint32_t trainer, uint64_t process, uint64_t step = 0) {
    REQUIRE(greet(trainer, process).verdict == Verdict::admitted);
    members.join(trainer, step, now);
    beat(trainer);
  }
  // A heartbeat of one that has seen the answer to the one before.
  void beat(uint32_t trainer) {
    admissions.beat(members[trainer].holder, answered[trainer], now);
    answered[trainer] = admissions.number_answer();
  }
  // Greets every half second while trainers `alive` send heartbeats; the first other answer.
  Admission insist(uint32_t trainer, uint64_t process, const std::vector<uint32_t>& alive,
                   bool takes_id = false) {
    for (int i = 0; i < 100; ++i) {
      if (i % 2 == 0)
        for (const uint32_t t : alive) beat(t);
      members.expire(now);
      const auto a = greet(trainer, process, takes_id);
      if (a.verdict != Verdict::held) return a;
      pass(0.5);
    }
    return {};
  }
};

}  // namespace

TEST_CASE("members: the result of a job", "[pserver]") {
  Room room(LossPolicy::wait);
  Members& m = room.members;
  room.join(0, 100);
  room.join(1, 200);
  m.finish(0, room.now);
  CHECK(!has_result(m));
  SECTION("is there once all had finished and trainer 0 has left") {
    m.finish(1, room.now);
    CHECK(!has_result(m));
    m.join(1, 9, room.now);  // its connection broke, and it joins again
    m.leave(0, room.now);
    CHECK(has_result(m));
    m.begin_again(1, room.now);
    CHECK(!has_result(m));
  }
  SECTION("is not there where trainer 0 leaves before the others have finished") {
    m.leave(0, room.now);
    CHECK(!has_result(m));
    m.closed(0, {100}, room.now);
    CHECK(room.greet(0, 300).verdict == Verdict::admitted);
  }
  SECTION("is there where trainer 0 says so, whatever this shard has lost") {
    m.begin_again(1, room.now);
    all_had_finished(m);
    CHECK(!has_result(m));
    m.leave(0, room.now);
    CHECK(has_result(m));
    m.join(1, 9, room.now);  // on its way when it was sent back
    CHECK(left_count(m, room.now) == 1);
    CHECK(!m.all_done(room.now));
    m.closed(1, {200}, room.now);
    CHECK(!m.all_done(room.now));  // it may return
    room.pass(3);
    CHECK(left_count(m, room.now) == 2);
    CHECK(m.all_done(room.now));
  }
  SECTION("nobody takes the place of one that has left then, but its own process may return") {
    m.finish(1, room.now);
    m.leave(0, room.now);
    room.pass(75);
    const auto first = room.greet(0, 300);
    CHECK(first.verdict == Verdict::held);
    CHECK(first.first);
    CHECK_THAT(first.why, Contains("trainer 0 has saved"));
    room.pass(1);
    CHECK(!room.greet(0, 300).first);
    CHECK(room.greet(0, 100).verdict == Verdict::admitted);
    CHECK(room.greet(1, 300).verdict == Verdict::admitted);  // it has not left
  }
}

// A pserver came back without its state, and trainer 0 was the first that it heard of.
TEST_CASE("members: those who have not come yet may hear of the result", "[pserver]") {
  Room room(LossPolicy::wait);
  Members& m = room.members;
  room.join(0, 100);
  all_had_finished(m);
  m.leave(0, room.now);
  room.pass(9);
  CHECK(!m.all_done(room.now));
  CHECK(left_count(m, room.now) == 1);
  room.pass(2);
  CHECK(m.all_done(room.now));
  CHECK(room.greet(1, 200).verdict == Verdict::admitted);
  CHECK(!m.all_done(room.now));
}

TEST_CASE("members: ids", "[pserver]") {
  Room room(LossPolicy::wait);
  Members& m = room.members;
  room.join(0, 100);

  SECTION("a second process with the same id is refused as soon as the first was heard again") {
    room.pass(75);
    room.beat(0);
    const Time begin = room.now;
    const auto first = room.greet(0, 200);
    CHECK(first.verdict == Verdict::held);
    CHECK(first.first);
    const auto a = room.insist(0, 200, {0});
    CHECK(a.verdict == Verdict::taken);
    CHECK_THAT(a.why, Contains("trainer 0 is host:100, connected 1:16 ago"));
    CHECK(seconds(begin, room.now) <= 4);
    CHECK(m.holds(0, {100}));
  }
  SECTION("a replacement for one that vanished waits until its lease ends, and takes over") {
    room.pass(3);  // nothing tells that its machine is gone
    const auto first = room.greet(0, 200);
    CHECK(first.verdict == Verdict::held);
    CHECK_THAT(first.why, Contains("trainer 0 is host:100, silent for 3 s") &&
                              Contains("joins when its lease ends, in 7 s"));
    const Time begin = room.now;
    CHECK(room.insist(0, 200, {}).verdict == Verdict::admitted);
    CHECK(seconds(begin, room.now) <= 8);
    CHECK(m.holds(0, {200}));
  }
  SECTION("what the vanished one had sent last does not count as a sign of life") {
    CHECK(room.greet(0, 200).verdict == Verdict::held);
    room.pass(1.5);
    m[0].holder.heard = room.now;
    CHECK(room.insist(0, 200, {}).verdict == Verdict::admitted);
  }
  SECTION("nor do its heartbeats that come late, however many and however late") {
    const uint64_t seen = room.answered[0];
    for (int i = 0; i < 12; ++i) {
      CHECK(room.greet(0, 200).verdict == Verdict::held);
      room.admissions.beat(m[0].holder, seen, room.now);
      room.admissions.number_answer();
      room.pass(1);
    }
    CHECK(room.insist(0, 200, {}).verdict == Verdict::admitted);
  }
  SECTION("nor does an answer that nobody has sent") {
    CHECK(room.greet(0, 200).verdict == Verdict::held);
    room.admissions.beat(m[0].holder, ~uint64_t{0}, room.now);
    CHECK(room.greet(0, 200).verdict == Verdict::held);
  }
  SECTION("nor does the job going back") {
    CHECK(room.greet(0, 200).verdict == Verdict::held);
    room.pass(5);
    m.begin_again(1, room.now);
    CHECK(room.insist(0, 200, {}).verdict == Verdict::admitted);
  }
  SECTION("one that has finished is replaced as well") {
    m.finish(0, room.now);
    CHECK(room.insist(0, 200, {}).verdict == Verdict::admitted);
  }
  SECTION("two at once do not keep each other from an answer") {
    Admission a, b;
    for (int i = 0; i < 8; ++i) {
      room.beat(0);
      a = room.greet(0, 200);
      b = room.greet(0, 300);
      room.pass(0.5);
    }
    CHECK(a.verdict == Verdict::taken);
    CHECK(b.verdict == Verdict::taken);
  }
  SECTION("who asked long ago is not judged by that") {
    CHECK(room.greet(0, 200).verdict == Verdict::held);
    room.pass(60);
    room.beat(0);
    room.pass(1);
    CHECK(room.greet(0, 200).verdict == Verdict::held);
  }
  SECTION("a newer renewal of the same process replaces the older one at once") {
    CHECK(room.greet(0, 100, false, 1).verdict == Verdict::admitted);
    CHECK(m.holds(0, {100, 1}));
    CHECK(m[0].state == MemberState::absent);
    CHECK(m[0].holder.connections == 1);
    m.closed(0, {100, 0}, room.now);  // late news of the older one
    CHECK(m[0].holder.connections == 1);
    CHECK(room.greet(0, 100, false, 0).verdict == Verdict::expired);  // and what it sent long ago
    CHECK(m.holds(0, {100, 1}));
    CHECK(room.greet(0, 100, false, 1).verdict == Verdict::admitted);
  }
  SECTION("it takes over when the connections of the first are gone") {
    m.closed(0, {100}, room.now);
    CHECK(room.greet(0, 200).verdict == Verdict::admitted);
    CHECK(m.holds(0, {200}));
    CHECK(m[0].state == MemberState::absent);
    m.closed(0, {100}, room.now);  // late news of the old one
    CHECK(m[0].holder.connections == 1);
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
    room.beat(1);
    const auto none = room.insist(0, 300, {0, 1}, true);
    CHECK(none.verdict == Verdict::refused);
    CHECK_THAT(none.why, Contains("all 2 trainer ids are taken"));
  }
  SECTION("that of one that vanished is given when its lease has ended") {
    CHECK(room.greet(0, 200, true).trainer == 1);
    room.beat(1);
    const auto a = room.insist(0, 300, {1}, true);
    CHECK(a.verdict == Verdict::admitted);
    CHECK(a.trainer == 0);
  }
  SECTION("but not that of one that still greets other shards and sends no heartbeats yet") {
    CHECK(room.greet(0, 200, true).trainer == 1);
    room.pass(60);
    room.beat(0);
    CHECK(room.insist(0, 300, {0}, true).verdict == Verdict::refused);
  }
  SECTION("one whose holder is between two connections is given last") {
    m.closed(0, {100}, room.now);
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
    m[0].holder.heard = room.now;
    room.pass(6);
    CHECK(room.lost() == std::vector<uint32_t>{1});
    CHECK(room.lost().empty());
    CHECK(m.required(m[1], 5));
    CHECK_THAT(room.pipe.read(), Contains("trainer 1 (host:200) is lost: nothing heard for 12 s; "
                                          "rounds wait for its return"));
    CHECK_THAT(m.waiting_for(1, 5, room.now, room.now), Contains("lost, host:200 said nothing"));
  }
  SECTION("and sooner when the connections closed") {
    m.closed(1, {200}, room.now);
    room.pass(1.5);
    m[0].holder.heard = room.now;
    CHECK(room.lost().empty());
    room.pass(1);
    CHECK(room.lost() == std::vector<uint32_t>{1});
  }
  SECTION("the same process may return") {
    room.pass(11);
    m[0].holder.heard = room.now;
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
    room.beat(0);
    room.beat(1);
    CHECK(room.lost().empty());
    CHECK(!m.all_done(room.now));
    m.leave(0, room.now);
    CHECK(!m.all_done(room.now));
    m.closed(1, {200}, room.now);
    CHECK(!m.all_done(room.now));  // it may return
    room.pass(3);
    CHECK(m.all_done(room.now));
  }
  SECTION("one that has finished and says nothing any more has left, too") {
    m.finish(1, room.now);
    m.leave(0, room.now);
    room.pass(9);
    CHECK(!m.all_done(room.now));
    CHECK(m[1].holder.away_for(m.leases(), room.now) == 0);
    room.pass(2);
    CHECK(m.all_done(room.now));
    CHECK(m[1].holder.away_for(m.leases(), room.now) == 11);
    room.beat(1);
    CHECK(!m.all_done(room.now));
  }
  SECTION("a job does not end before trainer 0 has saved and left") {
    for (const uint32_t t : {0u, 1u}) m.finish(t, room.now);
    m.leave(1, room.now);
    m.closed(0, {100}, room.now);
    room.pass(100);
    CHECK(!m.all_done(room.now));
    m.leave(0, room.now);
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
  m[0].holder.heard = room.now;
  CHECK(room.lost() == std::vector<uint32_t>{1});
  CHECK(!m.required(m[1], 4));
  CHECK_THAT(room.pipe.read(), Contains("the others go on without it"));

  SECTION("the old incarnation is fenced, a new one joins later rounds") {
    CHECK(room.greet(1, 200).verdict == Verdict::expired);
    CHECK(room.greet(1, 200, false, 1).verdict == Verdict::admitted);
    CHECK(room.greet(1, 200).verdict == Verdict::expired);
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
  m[1].holder.last_error = "out of memory";
  m.closed(1, {200}, room.now);
  room.pass(3);
  m[0].holder.heard = room.now;
  const auto lost = m.expire(room.now);
  REQUIRE(lost.size() == 1);
  CHECK_THAT(lost[0].why, Contains("(its connections closed 3 s ago)") &&
                              Contains("--on_trainer_loss=fail ends the job") &&
                              Contains("its last error: out of memory"));
}

TEST_CASE("members: a restart that fails before it joins is a loss too", "[pserver]") {
  Room room(LossPolicy::drop);
  Members& m = room.members;
  room.join(0, 100);
  room.join(1, 200);
  m.closed(1, {200}, room.now);
  CHECK(room.greet(1, 201).verdict == Verdict::admitted);
  CHECK(m.required(m[1], 3));
  m.closed(1, {201}, room.now);
  room.pass(3);
  m[0].holder.heard = room.now;
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
