// The exchanges by plain calls: no socket, no thread, no clock.
#include "trainer/exchange.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "obs/exchange_times.h"
#include "trainer/exchange_support.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {

using SliceIds = std::vector<uint32_t>;
using FloatList = std::vector<float>;

const ExchangeOptions sync_options{.mode = wire::Mode::sync, .trainers = 2};
const ExchangeOptions half_async_options{.mode = wire::Mode::half_async, .trainers = 2};
constexpr GroupLimits grouped{.slice = 16, .group = 32, .slices = 100};

}  // namespace

TEST_CASE("sync exchange: a step", "[trainer]") {
  TestExchange t(cut_by_hand({2, 3}, {0, 1}, 2), sync_options);
  ParamExchange& e = *t.exchange;
  t.exchange->join(5, 7, t.states);
  SECTION("joining pulls the version of the step from every shard") {
    CHECK_FALSE(e.none_awaited());
    const auto sent = t.out.take();
    REQUIRE(sent.size() == 2);
    CHECK_FALSE(sent[0].push);
    CHECK(sent[0].versions == std::vector<uint64_t>{7});
    CHECK(sent[0].epoch == 5);
    t.answer_all(sent, 7, 10);
    CHECK(e.none_awaited());
    CHECK(t.values[0] == FloatList{10, 10});
    CHECK(t.values[1] == FloatList{11, 11, 11});
  }
  t.answer_all(t.out.take(), 7, 10);
  t.begin(7);
  SECTION("a gradient leaves at once, from where it lies, and asks for its answer") {
    t.push(1, 0.5f);
    auto sent = t.out.take();
    REQUIRE(sent.size() == 1);
    CHECK(sent[0].shard == 1);
    CHECK(sent[0].step == 7);
    CHECK(sent[0].bulk == FloatList{0.5f, 0.5f, 0.5f});
    CHECK(e.may_read(0));
    CHECK_FALSE(e.may_read(1));
    CHECK(e.first_awaited() == 1u);
    t.answer_all(sent, 8, 20);
    CHECK(e.may_read(1));
    CHECK(e.settled(7));
    CHECK_FALSE(e.settled(8));  // the other parameter is of step 7
  }
  SECTION("the next step pushes nothing before all parameters have its version") {
    t.push(0, 1);
    t.push(1, 1);
    const auto sent = t.out.take();
    t.answer(0, {0}, 8, 20);
    t.begin(8);
    CHECK(e.may_read(0));
    CHECK_FALSE(e.may_push());  // parameter 1 is still of step 7: its shard keeps that version
    t.answer(1, {1}, 8, 20);
    CHECK(e.may_push());
    t.push(0, 1);
    CHECK(e.may_push());  // in the midst of a step it does not matter what is on its way
  }
  SECTION("after a break everything is pulled again, and nothing is sent again") {
    t.push(0, 1);
    t.out.take();
    CHECK(e.manner() == ParamExchange::Manner::repeats_steps);
    e.join(6, 7, t.states);
    const auto sent = t.out.take();
    REQUIRE(sent.size() == 2);
    CHECK((!sent[0].push && !sent[1].push));
  }
  SECTION("values that nobody asked for are a protocol error") {
    CHECK_THROWS_WITH(t.answer(0, {0}, 8, 0), Contains("slice 0 that nobody asked for"));
    t.push(1, 1);
    CHECK_THROWS_WITH(t.answer(0, {1}, 8, 0), Contains("nobody asked for"));  // another shard's
    const std::vector<wire::ValuesPart> part = {{.version = 8, .slice = 1}};
    CHECK_THROWS_WITH(e.landing(1, {part}, 8), Contains("8 bytes for 'p1', which has 12"));
    const std::vector<wire::ValuesPart> beyond = {{.version = 8, .slice = 9}};
    CHECK_THROWS_AS(e.landing(1, {beyond}, 8), Error);
  }
}

TEST_CASE("half-async exchange: any version will do", "[trainer]") {
  TestExchange t(cut_by_hand({2}, {0}, 1), half_async_options);
  t.exchange->join(0, 4, t.states);
  const auto sent = t.out.take();
  CHECK(sent[0].versions == std::vector<uint64_t>{0});
  t.answer_all(sent, 2, 0);
  t.begin(4);
  CHECK(t.exchange->may_push());
  t.push(0, 1);
  CHECK_FALSE(t.exchange->may_read(0));
  CHECK_FALSE(t.exchange->settled(5));
  t.answer_all(t.out.take(), 3, 0);
  CHECK(t.exchange->may_read(0));
  CHECK(t.exchange->settled(5));
}

TEST_CASE("small slices of a shard travel together", "[trainer]") {
  // Bytes: 8, 16, 8 on shard 0 (one group of 32), 8 more (the next group), 24 (alone), 8 on
  // shard 1.
  const Cut cut = cut_by_hand({2, 4, 2, 2, 6, 2}, {0, 0, 0, 0, 0, 1}, 2);
  TestExchange t(cut, sync_options, grouped);
  ParamExchange& e = *t.exchange;
  REQUIRE(t.layout.groups.size() == 4);
  CHECK(t.layout.groups[0].slices == SliceIds{0, 1, 2});
  CHECK(t.layout.groups[1].slices == SliceIds{3});
  CHECK(t.layout.groups[2].slices == SliceIds{4});
  CHECK(t.layout.groups[3].slices == SliceIds{5});
  e.join(0, 0, t.states);
  const auto pulls = t.out.take();
  CHECK(pulls.size() == 4);
  CHECK(pulls[0].slices == SliceIds{0, 1, 2});
  t.answer_all(pulls, 0, 0);
  t.begin(0);
  SECTION("a group is sent with its last gradient, whatever their order") {
    t.push(2, 3);
    t.push(0, 1);
    CHECK(t.out.messages.empty());
    t.push(4, 5);  // a large one does not wait
    REQUIRE(t.out.messages.size() == 1);
    t.push(1, 2);
    REQUIRE(t.out.messages.size() == 2);
    CHECK(t.out.messages[1].slices == SliceIds{0, 1, 2});
    CHECK(t.out.messages[1].bulk == FloatList{1, 1, 2, 2, 2, 2, 3, 3});
    t.answer(0, {0, 1, 2}, 1, 10);
    CHECK(t.values[1] == FloatList{11, 11, 11, 11});
    CHECK(t.values[2] == FloatList{12, 12});
    CHECK(e.may_read(1));
    CHECK_FALSE(e.may_read(4));
  }
  SECTION("a step that broke within a group begins the group anew") {
    t.push(0, 1);
    e.join(1, 0, t.states);
    t.answer_all(t.out.take(), 0, 0);
    t.begin(0);
    for (const int32_t p : {2, 1}) t.push(p, 7);
    CHECK(t.out.messages.empty());
    t.push(0, 7);
    REQUIRE(t.out.messages.size() == 1);
    CHECK(t.out.messages[0].bulk == FloatList(8, 7));
  }
}

TEST_CASE("async exchange: one push on its way, the rest is merged", "[trainer]") {
  const bool mean = GENERATE(false, true);
  TestExchange t(cut_by_hand({2}, {0}, 1),
                 {.mode = wire::Mode::async, .queue_size = 2, .merge_mean = mean});
  ParamExchange& e = *t.exchange;
  t.join(0, 0);
  t.begin(0);
  t.push(0, 1);
  auto first = t.out.take();
  REQUIRE(first.size() == 1);
  CHECK(e.may_read(0));                            // nothing waits for an answer
  const int64_t queued = exchange_times().queued;  // of other cases
  for (const uint64_t step : {1, 2}) {
    CHECK(e.may_begin());
    t.begin(step);
    t.push(0, static_cast<float>(step * 2));
  }
  CHECK(t.out.messages.empty());
  CHECK_FALSE(e.may_begin());  // as many are merged as are allowed
  CHECK_FALSE(e.settled(3));
  CHECK(exchange_times().queued == queued + 2);
  SECTION("the answer lets the merged ones go") {
    t.answer_all(first, 4, 10);
    CHECK(exchange_times().queued == queued);
    CHECK(t.values[0] == FloatList{10, 10});
    const auto sent = t.out.take();
    REQUIRE(sent.size() == 1);
    CHECK(sent[0].bulk == (mean ? FloatList{3, 3} : FloatList{6, 6}));
    CHECK(sent[0].step == 2);
    CHECK(e.may_begin());
    t.answer_all(sent, 5, 10);
    CHECK(e.settled(3));
  }
  SECTION("a push that the shard lacks is sent again, then the merged ones") {
    t.states[0].last_step = 0;
    e.join(1, 3, t.states);
    auto sent = t.out.take();
    REQUIRE(sent.size() == 1);
    CHECK(sent[0].push);
    CHECK(sent[0].step == 0);
    CHECK(sent[0].epoch == 1);
    CHECK(sent[0].bulk == FloatList{1, 1});
    t.answer_all(sent, 1, 0);
    sent = t.out.take();
    REQUIRE(sent.size() == 1);
    CHECK(sent[0].step == 2);
  }
  SECTION("a push that was applied is not sent again") {
    t.states[0].last_step = 1;
    e.join(1, 3, t.states);
    auto sent = t.out.take();
    REQUIRE(sent.size() == 1);
    CHECK_FALSE(sent[0].push);
    t.answer_all(sent, 1, 0);
    CHECK(t.out.take()[0].step == 2);
    CHECK(e.manner() == ParamExchange::Manner::streams);
  }
}

// The process before it may have merged as many steps as the queue holds into each update.
TEST_CASE("a restarted trainer counts what its predecessor may have lost", "[trainer]") {
  TestExchange t(cut_by_hand({1}, {0}, 1), {.mode = wire::Mode::async, .queue_size = 4});
  t.states[0].last_step = 10;
  t.exchange->updates().joining(0, 10, t.states, {.instance = 1});
  t.exchange->join(0, 10, t.states);
  t.answer_all(t.out.take(), 8, 0);
  CHECK(t.exchange->updates().lost()[0] == 0);
  // The shard has lost everything, and goes on with what another trainer knew of it.
  t.states[0].last_step = wire::unknown_steps;
  t.exchange->updates().joining(0, 10, t.states, {.instance = 2, .base = 6, .origins = {{1, 6}}});
  CHECK(t.exchange->updates().lost()[0] == 8);
}

TEST_CASE("async exchange: groups", "[trainer]") {
  TestExchange t(cut_by_hand({2, 2}, {0, 0}, 1), {.mode = wire::Mode::async}, grouped);
  ParamExchange& e = *t.exchange;
  t.join(0, 0);
  t.begin(0);
  t.push(0, 1);
  CHECK(t.out.messages.empty());
  t.push(1, 2);
  const auto first = t.out.take();
  REQUIRE(first.size() == 1);
  CHECK(first[0].bulk == FloatList{1, 1, 2, 2});
  t.begin(1);
  t.push(1, 20);
  t.answer_all(first, 1, 0);
  CHECK(t.out.messages.empty());  // half of a step does not leave
  t.push(0, 10);
  const auto second = t.out.take();
  REQUIRE(second.size() == 1);
  CHECK(second[0].bulk == FloatList{10, 10, 20, 20});
  SECTION("only the slices that a shard lacks are sent again") {
    t.states[0].last_step = 2;
    t.states[1].last_step = 1;
    e.join(1, 2, t.states);
    const auto sent = t.out.take();
    REQUIRE(sent.size() == 2);
    CHECK(sent[0].push);
    CHECK(sent[0].slices == SliceIds{1});
    CHECK(sent[0].bulk == FloatList{20, 20});
    CHECK_FALSE(sent[1].push);
    CHECK(sent[1].slices == SliceIds{0});
    CHECK_FALSE(e.none_awaited());
    t.answer_all(sent, 3, 0);
    CHECK(e.settled(2));
  }
}

TEST_CASE("async exchange: without memory to merge", "[trainer]") {
  using Until = Remote::ReadUntil;
  // There is memory for the group of the last two.
  TestExchange t(cut_by_hand({64, 64, 2, 2}, {0, 1, 0, 0}, 2),
                 {.mode = wire::Mode::async, .merge_memory = 16}, {.slice = 16, .group = 16});
  ParamExchange& e = *t.exchange;
  CHECK(e.read_until(0) == Until::answered);
  CHECK(e.read_until(2) == Until::pushed);
  t.join(0, 0);
  t.begin(0);
  for (const int32_t p : {0, 1, 2, 3}) t.push(p, 1);
  const auto first = t.out.take();
  REQUIRE(first.size() == 3);
  CHECK(first[0].bulk == FloatList(64, 1));
  t.begin(1);
  CHECK(e.may_begin());
  CHECK_FALSE(e.has_place(0));
  CHECK(e.has_place(2));
  for (const int32_t p : {2, 3}) t.push(p, 2);
  CHECK(t.out.messages.empty());  // these are merged
  t.answer(0, {0}, 1, 5);
  CHECK(e.has_place(0));
  CHECK_FALSE(e.has_place(1));
  t.push(0, 3);
  auto sent = t.out.take();
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].bulk == FloatList(64, 3));
  SECTION("what a shard lacks is sent again from the gradient, and is not pushed again") {
    t.gradients[0].assign(64, 7);  // its own memory
    t.states[0].last_step = 1;
    for (const size_t id : {1, 2, 3}) t.states[id].last_step = 1;
    e.join(1, 1, t.states);
    sent = t.out.take();
    std::vector<float> again;
    for (const auto& s : sent)
      if (s.push) again = s.bulk;
    CHECK(again == FloatList(64, 7));
    t.answer_all(sent, 2, 5);
    t.answer_all(t.out.take(), 3, 5);  // those that were merged
    t.begin(1);                        // computed again
    for (const int32_t p : {0, 2, 3}) t.push(p, 9);
    CHECK(t.out.take().empty());
    CHECK(e.settled(2));
    t.push(1, 9);
    CHECK(t.out.take().size() == 1);
    CHECK_FALSE(e.has_place(1));
  }
  SECTION("half a group that was pushed before a break is not pushed again") {
    t.answer(0, {2, 3}, 1, 5);
    t.answer_all(t.out.take(), 2, 5);
    t.begin(2);
    t.push(2, 4);
    for (wire::SliceState& s : t.states) s.last_step = 2;
    e.join(1, 2, t.states);
    t.answer_all(t.out.take(), 2, 5);
    t.begin(2);
    for (const int32_t p : {2, 3}) t.push(p, 9);
    sent = t.out.take();
    REQUIRE(sent.size() == 1);
    CHECK(sent[0].bulk == FloatList{4, 4, 9, 9});
  }
}

TEST_CASE("geo exchange: differences every few steps", "[trainer]") {
  TestExchange t(cut_by_hand({2}, {0}, 1),
                 {.mode = wire::Mode::geo, .trainers = 2, .geo_steps = 2});
  ParamExchange& e = *t.exchange;
  t.join(0, 0, 100);
  CHECK(t.values[0] == FloatList{100, 100});
  t.begin(0);
  t.push(0, 1);
  CHECK_FALSE(e.end_step());
  CHECK(t.out.messages.empty());
  t.begin(1);
  t.values[0] = {108, 100};  // the trainer's own optimizer
  CHECK(e.end_step());
  auto sent = t.out.take();
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].bulk == FloatList{4, 0});
  CHECK(sent[0].step == 1);
  SECTION("what the others changed is added") {
    t.answer_all(sent, 1, 110);  // 100 + our 4 + their 6, and + 10
    CHECK(t.values[0] == FloatList{114, 110});
    CHECK(e.finish({.step = 2, .begin = {}, .end = {}}));
    sent = t.out.take();
    CHECK(sent[0].bulk == FloatList{2, 0});
    t.answer_all(sent, 2, 120);
    CHECK(e.none_awaited());
    e.pull_all();  // what is saved is the shards' copy
    t.answer_all(t.out.take(), 2, 7);
    CHECK(t.values[0] == FloatList{7, 7});
  }
  SECTION("after a break the difference is sent again, and what was not sent stays") {
    t.states[0].last_step = 1;  // step 1 is lacking
    e.join(1, 2, t.states);
    sent = t.out.take();
    REQUIRE(sent.size() == 1);
    CHECK(sent[0].push);
    CHECK(sent[0].bulk == FloatList{4, 0});
    t.answer_all(sent, 1, 50);
    CHECK(t.values[0] == FloatList{54, 50});  // the half that every exchange keeps here
  }
}
