// Which requests for rows a trainer sends, and when; by plain calls.
#include "trainer/row_exchange.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "table/partition.h"
#include "trainer/exchange_support.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace row_exchange_test {

using Ids = std::vector<uint64_t>;
using Floats = std::vector<float>;
using Sent = SentMessages::Sent;

// One table of rows of one value, in parts on two shards; no parameters.
struct TestRows {
  explicit TestRows(wire::Mode mode, uint64_t queue = 4)
      : cut(cut_of_table()), rows(cut, mode, queue, out) {
    join(1, 0);
  }
  static Cut cut_of_table() {
    Cut cut;
    cut.trainer.tables.push_back({.param = "emb", .grad = "emb@GRAD", .width = 1});
    cut.pservers.resize(2);
    cut.table_shards = {0, 1};
    return cut;
  }

  void join(uint64_t epoch, uint64_t step) {
    const std::vector<wire::SliceState> states{{.slice = 0, .version = step, .last_step = step},
                                               {.slice = 1, .version = step, .last_step = step}};
    rows.join(epoch, step, states);
    for (const Sent& s : out.take()) arrived(s, step);
  }
  void arrived(const Sent& s, uint64_t version) {
    const wire::ValuesPart part{.version = version, .slice = s.slices[0]};
    rows.arrived(s.shard, s.id, wire::Values{{&part, 1}});
  }
  // The shard answers: the row of an id is the id plus `value`.
  void answer(const Sent& s, uint64_t version, float value) {
    const wire::ValuesPart part{.version = version, .slice = s.slices[0]};
    const wire::Values values{{&part, 1}};
    const auto to = rows.landing(s.shard, s.id, values, s.ids.size() * sizeof(float));
    REQUIRE(to.size() == 1);
    for (size_t i = 0; i < s.ids.size(); ++i) {
      const float row = static_cast<float>(s.ids[i]) + value;
      std::memcpy(to[0].data() + i * sizeof row, &row, sizeof row);
    }
    rows.arrived(s.shard, s.id, values);
  }
  void answer_all(const std::vector<Sent>& sent, uint64_t version, float value) {
    for (const Sent& s : sent) s.push ? arrived(s, version) : answer(s, version, value);
  }
  void begin(uint64_t step) {
    rows.begin_step({.step = step, .begin = {.record = step}, .end = {.record = step + 1}});
  }
  // A whole step; what is on its way at its end is answered with the next version.
  void step(uint64_t number, const Ids& ids, const Ids& next) {
    begin(number);
    rows.requests().announce(0, next, number + 1);
    rows.requests().request(0, ids);
    answer_all(out.take(), number, 0);
    push(ids);
    rows.end_step();
    answer_all(out.take(), number + 1, 100);
  }
  void push(const Ids& ids) { rows.push(0, ids, Floats(ids.size(), 1.0f).data()); }
  Floats taken(size_t n) {
    Floats got(n);
    rows.requests().take(0, got.data());
    return got;
  }

  Cut cut;
  SentMessages out;
  RowExchange rows;
};

std::vector<Sent> pulls_of(const std::vector<Sent>& sent) {
  std::vector<Sent> out;
  for (const Sent& s : sent)
    if (!s.push) out.push_back(s);
  return out;
}

Ids all_ids(const std::vector<Sent>& sent) {
  Ids ids;
  for (const Sent& s : sent) ids.insert(ids.end(), s.ids.begin(), s.ids.end());
  std::sort(ids.begin(), ids.end());
  return ids;
}

const Ids some{3, 4, 10, 21}, others{4, 8, 9, 10};  // of both shards

TEST_CASE("sync: the rows of the next step are asked for behind the gradients", "[trainer]") {
  const auto mode = GENERATE(wire::Mode::sync, wire::Mode::half_async);
  TestRows t(mode);
  t.begin(0);
  t.rows.requests().announce(0, others, 1);
  t.rows.requests().request(0, some);
  CHECK(all_ids(t.out.messages) == some);  // of this step alone
  t.answer_all(t.out.take(), 0, 0);
  t.push(some);
  CHECK(t.out.messages.size() == 2);
  t.rows.end_step();
  const std::vector<Sent> sent = t.out.take();
  REQUIRE(sent.size() == 4);
  CHECK((sent[0].push && sent[1].push));
  CHECK(all_ids(sent) == others);
  for (const Sent& s : pulls_of(sent)) CHECK(s.versions[0] == (mode == wire::Mode::sync ? 1 : 0));
  t.answer_all({sent[0], sent[1]}, 1, 0);
  t.begin(1);
  t.rows.requests().request(0, others);
  CHECK(t.out.messages.empty());
  CHECK_FALSE(t.rows.requests().pulled(0));
  CHECK(t.rows.first_awaited()->table == "emb");
  t.answer_all(pulls_of(sent), 1, 0.5f);
  CHECK(t.rows.requests().pulled(0));
  CHECK(t.taken(4) == Floats{4.5f, 8.5f, 9.5f, 10.5f});
  CHECK(t.rows.requests().ahead() == 1);
  SECTION("which are those of this step, in the order of its ids") {
    t.push(others);
    Ids pushed;
    for (const Sent& s : t.out.take()) {
      REQUIRE(s.push);
      CHECK(s.step == 1);
      for (size_t i = 0; i < s.bulk.size() / 3; ++i) {
        uint64_t id = 0;
        std::memcpy(&id, s.bulk.data() + 2 * i, sizeof id);
        CHECK(shard_of(id, 2) == s.shard);
        pushed.push_back(id);
      }
    }
    std::sort(pushed.begin(), pushed.end());
    CHECK(pushed == others);
  }
}

TEST_CASE("async: they are asked for at once, and may lack the gradients of this step",
          "[trainer]") {
  TestRows t(wire::Mode::async);
  t.begin(0);
  t.rows.requests().announce(0, others, 1);
  const std::vector<Sent> early = t.out.take();
  CHECK(all_ids(early) == others);
  t.rows.requests().request(0, some);
  t.answer_all(early, 5, 0.25f);  // before those of this step, which are not touched
  CHECK_FALSE(t.rows.requests().pulled(0));
  t.answer_all(t.out.take(), 6, 0);
  CHECK(t.taken(4) == Floats{3, 4, 10, 21});
  t.push(some);
  t.rows.end_step();
  std::vector<Sent> sent = t.out.take();
  REQUIRE(sent.size() == 2);  // the pushes
  for (const Sent& s : sent) CHECK(s.versions[0] == 6);
  t.answer_all(sent, 7, 0);
  t.begin(1);
  t.rows.requests().request(0, others);
  CHECK(t.rows.requests().pulled(0));
  CHECK(t.taken(4) == Floats{4.25f, 8.25f, 9.25f, 10.25f});
  t.push(others);
  sent = t.out.take();
  CHECK(sent.size() == 2);
  for (const Sent& s : sent) CHECK(s.versions[0] == 6);  // 5, and this trainer's own update
}

TEST_CASE("another batch than the one that was announced gets its own rows", "[trainer]") {
  const auto mode = GENERATE(wire::Mode::sync, wire::Mode::async);
  TestRows t(mode);
  t.begin(0);
  t.rows.requests().announce(0, others, 1);
  const std::vector<Sent> at_once = t.out.take();
  t.rows.requests().request(0, some);
  t.answer_all(t.out.take(), 0, 0);
  t.push(some);
  t.rows.end_step();
  std::vector<Sent> sent = t.out.take();
  std::vector<Sent> early = mode == wire::Mode::async ? at_once : pulls_of(sent);
  REQUIRE(all_ids(early) == others);
  for (const Sent& s : sent)
    if (s.push) t.arrived(s, 1);
  t.begin(1);
  t.rows.requests().announce(0, some,
                             2);  // while those that nobody wants any more are on their way
  const std::vector<Sent> next = t.out.take();
  CHECK(all_ids(next) == (mode == wire::Mode::async ? some : Ids{}));
  t.rows.requests().request(0, {Ids{20, 21}});
  const std::vector<Sent> own = t.out.take();
  CHECK(all_ids(own) == Ids{20, 21});
  t.answer_all(own, 1, 0);
  t.answer_all(early, 1, 50);
  CHECK(t.rows.requests().pulled(0));
  CHECK(t.taken(2) == Floats{20, 21});
  CHECK(t.rows.requests().ahead() == 0);
  t.answer_all(next, 1, 0.5f);
  t.push({20, 21});
  t.rows.end_step();
  t.answer_all(t.out.take(), 2, 0.5f);
  t.begin(2);
  t.rows.requests().request(0, some);
  CHECK(t.out.messages.empty());
  CHECK(t.taken(4) == Floats{3.5f, 4.5f, 10.5f, 21.5f});
}

TEST_CASE("the rows of other steps and of what was before a break are not used", "[trainer]") {
  const auto mode = GENERATE(wire::Mode::sync, wire::Mode::half_async, wire::Mode::async);
  TestRows t(mode);
  SECTION("a break") {
    t.step(0, some, others);
    t.join(2, 1);
    t.begin(1);
    t.rows.requests().request(0, others);
    CHECK(all_ids(t.out.messages) == others);
    for (const Sent& s : t.out.messages) CHECK(s.epoch == 2);
  }
  SECTION("a break while they are on their way") {
    t.begin(0);
    t.rows.requests().announce(0, others, 1);
    const std::vector<Sent> early = t.out.take();
    t.rows.requests().request(0, some);
    t.answer_all(t.out.take(), 0, 0);
    t.push(some);
    t.rows.end_step();
    t.out.take();
    t.join(2, 0);  // the step is taken back
    t.begin(0);
    t.rows.requests().announce(0, others, 1);
    t.rows.requests().request(0, some);
    CHECK(all_ids(t.out.take()) ==
          (mode == wire::Mode::async ? Ids{3, 4, 4, 8, 9, 10, 10, 21} : some));
  }
  SECTION("a step that is not the next one") {
    t.begin(0);
    t.rows.requests().announce(0, others, 2);
    CHECK(t.out.messages.empty());
    t.push({});
    t.rows.end_step();
    CHECK(pulls_of(t.out.messages).empty());
  }
  SECTION("a test between two steps") {
    t.step(0, some, others);
    t.rows.requests().read_at(1);
    t.rows.requests().request(0, others);
    CHECK(all_ids(t.out.messages) == others);
    t.answer_all(t.out.take(), 1, 7);
    CHECK(t.taken(4).at(0) == 11);
    t.begin(1);
    t.rows.requests().request(0, others);
    CHECK(t.out.messages.empty());
    CHECK(t.taken(4).at(0) == (mode == wire::Mode::async ? 4 : 104));
  }
}

TEST_CASE("a test reads its own version, also where no step has asked for what was announced",
          "[trainer]") {
  TestRows t(wire::Mode::sync);
  t.step(0, some, others);
  t.begin(1);  // a step that looks nothing up
  t.push({});
  t.answer_all(t.out.take(), 2, 0);
  t.rows.requests().read_at(2);
  t.rows.requests().request(0, others);
  CHECK(all_ids(t.out.messages) == others);
  for (const Sent& s : t.out.messages) CHECK(s.versions[0] == 2);
}

TEST_CASE("the memory of a pull that is on its way is not used anew", "[trainer]") {
  TestRows t(wire::Mode::async);
  t.begin(0);
  t.rows.requests().announce(0, others, 1);
  const std::vector<Sent> slow = t.out.take();
  for (uint64_t step = 0; step < 4; ++step) {
    if (step > 0) t.begin(step);
    t.rows.requests().announce(0, some, step + 1);
    t.rows.requests().request(0, {Ids{20, step}});  // others than were announced
    t.push({20, step});
    for (const Sent& s : t.out.take())
      if (s.push || s.id != slow[0].id) t.answer_all({s}, step, 0);
  }
  CHECK_NOTHROW(t.answer_all(slow, 9, 0));
}

// A shard refuses a version that is more than one ahead of its own.
TEST_CASE("sync: nothing is asked for early without gradients before it", "[trainer]") {
  TestRows t(wire::Mode::sync);
  t.begin(0);
  t.rows.requests().announce(0, others, 1);
  t.rows.end_step();
  CHECK(t.out.messages.empty());
  t.begin(1);
  t.rows.requests().request(0, others);
  CHECK(all_ids(t.out.messages) == others);
  for (const Sent& s : t.out.messages) CHECK(s.versions[0] == 1);
}

TEST_CASE("where shards answer nothing, no more than two pulls are ahead", "[trainer]") {
  TestRows t(wire::Mode::async);
  t.begin(0);
  t.rows.requests().announce(0, others, 1);
  t.rows.requests().announce(0, some, 1);
  t.rows.requests().announce(0, {Ids{30, 31}}, 1);
  CHECK(all_ids(t.out.take()) == Ids{3, 4, 4, 8, 9, 10, 10, 21});
}

TEST_CASE("rows that nobody asked for are refused", "[trainer]") {
  TestRows t(wire::Mode::sync);
  t.begin(0);
  t.rows.requests().request(0, some);
  const std::vector<Sent> sent = t.out.take();
  const wire::ValuesPart part{.slice = sent[0].slices[0]};
  const wire::Values values{{&part, 1}};
  const uint64_t bytes = sent[0].ids.size() * sizeof(float);
  for (const uint64_t id : {0, 2, 3, 4})
    CHECK_THROWS_WITH(t.rows.landing(sent[0].shard, id, values, bytes), Contains("nobody asked"));
  CHECK_THROWS_WITH(t.rows.landing(sent[0].shard, 1, values, bytes + 4), Contains("nobody asked"));
  CHECK_THROWS_WITH(t.rows.arrived(sent[0].shard, 1, values), Contains("answered a pull"));
  CHECK_THROWS_WITH(t.rows.arrived(sent[0].shard, 9, values), Contains("answered a pull"));
  CHECK_THROWS_WITH(t.rows.arrived(sent[0].shard, 0, values), Contains("answered a push"));
}

}  // namespace row_exchange_test
