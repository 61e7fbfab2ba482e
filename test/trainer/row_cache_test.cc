// The cache of rows, alone and behind the requests of a trainer, by plain calls.
#include "trainer/row_cache.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <deque>
#include <map>
#include <set>

#include "base/random.h"
#include "table/partition.h"
#include "trainer/exchange_support.h"
#include "trainer/row_exchange.h"

using namespace paddle;
using namespace paddle::test;

namespace row_cache_test {

using Ids = std::vector<uint64_t>;
using Sent = SentMessages::Sent;
constexpr uint64_t plenty = 1u << 20;

struct FloatCache : RowCache {
  FloatCache(uint64_t bytes, uint64_t steps) : RowCache(bytes, sizeof(float), steps) {}
  void add(uint64_t id, uint64_t asked, float value, int64_t base = 0) {
    put(id, asked, base, reinterpret_cast<const std::byte*>(&value));
  }
  // -1: not there.
  float value(uint64_t id, uint64_t step) {
    const Found f = find(id, step);
    float out = -1;
    if (f.row != nullptr) std::memcpy(&out, f.row, sizeof out);
    return out;
  }
};
// Bytes of so many sets of eight.
uint64_t sets(uint64_t n) {
  for (uint64_t bytes = 1; bytes < 4096; ++bytes)
    if (FloatCache(bytes, 1).bytes() > 0) return n * bytes;
  return 0;
}

TEST_CASE("a cached row is used for exactly its number of steps", "[trainer]") {
  const uint64_t steps = GENERATE(1u, 2u, 10u);
  FloatCache cache(plenty, steps);
  cache.add(7, 100, 1.5f, -3);
  for (uint64_t step = 100; step <= 100 + steps; ++step) CHECK(cache.value(7, step) == 1.5f);
  CHECK(cache.find(7, 100).base == -3);
  CHECK(cache.value(7, 101 + steps) == -1);
  CHECK(cache.value(7, ~uint64_t{0}) == -1);
  CHECK(cache.value(7, 99) == -1);  // from a step that is yet to come
  cache.add(7, 101 + steps, 2);     // asked for anew
  CHECK(cache.value(7, 101 + 2 * steps) == 2);
  CHECK(cache.rows() == 1);
}

TEST_CASE("a cache without memory for eight rows keeps none", "[trainer]") {
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{1}, sets(1) - 1}) {
    FloatCache cache(bytes, 10);
    cache.add(1, 0, 1);
    CHECK(cache.value(1, 0) == -1);
    cache.clear();
    CHECK(cache.rows() == 0);
    CHECK(cache.bytes() == 0);
  }
}

TEST_CASE("ids that share a set are told apart", "[trainer]") {
  FloatCache cache(sets(1), 10);  // all ids do
  const Ids ids{0, 1, ~uint64_t{0}, uint64_t{1} << 63, 42, 1000, 77, 5};
  for (size_t i = 0; i < ids.size(); ++i) cache.add(ids[i], 0, static_cast<float>(i));
  CHECK(cache.rows() == 8);
  for (size_t i = 0; i < ids.size(); ++i) CHECK(cache.value(ids[i], 1) == static_cast<float>(i));
  CHECK(cache.value(2, 1) == -1);
  CHECK(FloatCache(sets(1), 10).value(0, 0) == -1);  // id 0 is not what empty places hold
}

TEST_CASE("a full cache keeps rows that are used again", "[trainer]") {
  FloatCache cache(sets(1), 1000);
  for (uint64_t id = 0; id < 8; ++id) cache.add(id, 0, 1);
  for (uint64_t step = 1; step < 100; ++step) {
    CHECK(cache.value(3, step) == 1);  // in every step
    cache.add(1000 + step, step, 2);   // once
    CHECK(cache.value(1000 + step, step) >= -1);
    CHECK(cache.rows() == 8);
  }
  SECTION("and gives the place of a row that is too old first") {
    FloatCache old(sets(1), 5);
    old.add(0, 0, 1);
    for (uint64_t id = 1; id < 8; ++id) old.add(id, 6, 1);
    for (uint64_t step = 0; step < 6; ++step) CHECK(old.value(0, step) == (step < 6 ? 1 : -1));
    old.add(50, 6, 1);
    CHECK(old.value(0, 5) == -1);
    for (uint64_t id = 1; id < 8; ++id) CHECK(old.value(id, 6) == 1);
  }
}

TEST_CASE("an emptied cache has nothing", "[trainer]") {
  FloatCache cache(sets(3), 100);
  for (uint64_t id = 0; id < 40; ++id) cache.add(id, 5, 1);
  cache.clear();
  CHECK(cache.rows() == 0);
  for (uint64_t id = 0; id < 40; ++id) CHECK(cache.value(id, 5) == -1);
  for (uint64_t id = 0; id < 40; ++id) cache.add(id, 2, 2);
  CHECK(cache.rows() <= 24);
  size_t there = 0;
  for (uint64_t id = 0; id < 40; ++id)
    if (const float value = cache.value(id, 2); value != -1) {
      ++there;
      CHECK(value == 2);
    }
  CHECK(there == cache.rows());
}

// Whatever it keeps: what it gives is what was put last, and not too old.
TEST_CASE("a cache never gives a row that it should not", "[trainer]") {
  const uint64_t seed = GENERATE(1u, 2u, 3u, 4u);
  const uint64_t steps = 1 + seed * 2;
  FloatCache cache(sets(seed), steps);
  const RandomStream random(seed, 9);
  std::map<uint64_t, std::pair<uint64_t, float>> last;  // step, value
  size_t hits = 0;
  for (uint64_t i = 0, step = 0; i < 20000; ++i) {
    const uint64_t bits = random.bits(i);
    if (bits % 1999 == 0) {
      cache.clear();
      last.clear();
      step /= 2;  // as after a rollback
    }
    step += bits % 5 == 0;
    const uint64_t id = (bits >> 20) % 60;
    if (const float found = cache.value(id, step); found != -1) {
      ++hits;
      REQUIRE(last.count(id) == 1);
      CHECK(found == last[id].second);
      CHECK(step - last[id].first <= steps);
    } else if (bits % 3 != 0) {
      last[id] = {step, static_cast<float>(i)};
      cache.add(id, step, static_cast<float>(i));
    }
  }
  CHECK(hits > 500);
}

// ---- behind the requests of a trainer

// One table of rows of one value, in parts on two shards, whose rows hold the version in which they
// were read.
struct CachedRows {
  CachedRows(wire::Mode mode, uint64_t steps, uint64_t bytes = plenty, bool half = false)
      : cut(cut_of_table(half)), rows(cut, mode, 4, out, {bytes, steps}) {
    join(1, 0);
  }
  static Cut cut_of_table(bool half) {
    Cut cut;
    cut.trainer.tables.push_back({.param = "emb", .grad = "emb@GRAD", .width = 1});
    cut.trainer.tables[0].bf16_wire = half;
    cut.pservers.resize(2);
    cut.table_shards = {0, 1};
    return cut;
  }
  void join(uint64_t epoch, uint64_t step) {
    const std::vector<wire::SliceState> states{{.slice = 0, .version = step, .last_step = step},
                                               {.slice = 1, .version = step, .last_step = step}};
    rows.join(epoch, step, states);
  }
  // Rows have this value.
  void answer(const std::vector<Sent>& sent, uint64_t version, float value) {
    for (const Sent& s : sent) {
      const wire::ValuesPart part{.version = version, .slice = s.slices[0]};
      const wire::Values values{{&part, 1}};
      if (!s.push) {
        const size_t row = value_bytes(cut.trainer.tables[0]);
        const auto to = rows.landing(s.shard, s.id, values, s.ids.size() * row);
        for (size_t i = 0; i < s.ids.size(); ++i)
          std::memcpy(to[0].data() + i * row,
                      reinterpret_cast<const std::byte*>(&value) + sizeof value - row, row);
      }
      rows.arrived(s.shard, s.id, values);
    }
  }
  // The ids that the shards are asked for, sorted.
  static Ids asked(const std::vector<Sent>& sent) {
    Ids ids;
    for (const Sent& s : sent)
      if (!s.push) ids.insert(ids.end(), s.ids.begin(), s.ids.end());
    std::sort(ids.begin(), ids.end());
    return ids;
  }
  void begin(uint64_t step) {
    rows.begin_step({.step = step, .begin = {.record = step}, .end = {.record = step + 1}});
  }
  struct Step {
    Ids asked;                // of the shards
    std::vector<float> rows;  // that the step computes with
    std::vector<Sent> pushes;
  };
  // A step without announcements. Rows are read with the value `value`.
  Step step(uint64_t number, const Ids& ids, float value) {
    begin(number);
    Step out;
    rows.requests().request(0, ids);
    const auto sent = this->out.take();
    out.asked = asked(sent);
    answer(sent, number, value);
    out.rows = taken(ids.size());
    rows.push(0, ids, std::vector<float>(ids.size(), 1.0f).data());
    rows.end_step();
    out.pushes = this->out.take();
    answer(out.pushes, number + 1, 0);
    return out;
  }
  std::vector<float> taken(size_t n) {
    std::vector<float> got(n);
    rows.requests().take(0, got.data());
    return got;
  }

  Cut cut;
  SentMessages out;
  RowExchange rows;
};

const Ids some{3, 4, 10, 21}, others{4, 8, 9, 10};  // of both shards

TEST_CASE("a trainer asks for a row again when its steps are over", "[trainer]") {
  const auto mode = GENERATE(wire::Mode::async, wire::Mode::half_async);
  const bool half = GENERATE(false, true);
  CachedRows t(mode, 3, plenty, half);
  for (uint64_t step = 0; step < 12; ++step) {
    const auto s = t.step(step, some, static_cast<float>(step));
    CHECK(s.asked == (step % 4 == 0 ? some : Ids{}));
    CHECK(s.rows == std::vector<float>(4, static_cast<float>(step / 4 * 4)));
    // What was cached counts for the age of a gradient; the steps of this trainer alone do not.
    for (const Sent& push : s.pushes) CHECK(push.versions[0] == step);
  }
  CHECK(t.step(12, {4, 8}, 7).asked == Ids{4, 8});
  const auto mixed = t.step(13, {8, 3, 4, 9}, 9);
  CHECK(mixed.asked == Ids{3, 9});
  CHECK(mixed.rows == std::vector<float>{7, 9, 7, 9});
}

TEST_CASE("the updates of others make a gradient of cached rows older", "[trainer]") {
  CachedRows t(wire::Mode::async, 5);
  t.step(0, some, 0);
  t.begin(1);
  t.rows.requests().request(0, some);
  CHECK(t.out.messages.empty());
  t.taken(4);
  // Answers to a pull of other rows show that another trainer has made 10 updates.
  t.rows.requests().request(0, Ids{8, 9});
  t.answer(t.out.take(), 11, 1);
  t.taken(2);
  t.rows.requests().request(0, some);
  t.taken(4);
  t.rows.push(0, some, std::vector<float>(4, 1.0f).data());
  const auto pushes = t.out.take();
  REQUIRE(pushes.size() == 2);
  for (const Sent& push : pushes) CHECK(push.versions[0] == 1);  // version 0 and an own step
}

TEST_CASE("a push has the gradients of cached rows and of others", "[trainer]") {
  CachedRows t(wire::Mode::async, 5);
  t.step(0, {3, 10}, 0);
  t.begin(1);
  t.rows.requests().request(0, some);
  t.answer(t.out.take(), 1, 1);
  t.taken(4);
  t.rows.push(0, some, std::vector<float>{1, 2, 3, 4}.data());
  std::map<uint64_t, float> pushed;
  for (const Sent& s : t.out.take()) {
    std::vector<std::byte> bulk(s.bulk.size() * sizeof(float));
    std::memcpy(bulk.data(), s.bulk.data(), bulk.size());
    const size_t n = bulk.size() / (sizeof(uint64_t) + sizeof(float));
    for (size_t i = 0; i < n; ++i) {
      uint64_t id;
      float grad;
      std::memcpy(&id, bulk.data() + i * sizeof id, sizeof id);
      std::memcpy(&grad, bulk.data() + n * sizeof id + i * sizeof grad, sizeof grad);
      CHECK(shard_of(id, 2) == s.shard);
      CHECK(pushed.emplace(id, grad).second);
    }
  }
  CHECK(pushed == std::map<uint64_t, float>{{3, 1}, {4, 2}, {10, 3}, {21, 4}});
}

TEST_CASE("announced rows are asked for where they are not cached", "[trainer]") {
  SECTION("async: once the rows of the present step are here") {
    CachedRows t(wire::Mode::async, 3);
    t.begin(0);
    t.rows.requests().announce(0, others, 1);
    CHECK(t.out.messages.empty());
    t.rows.requests().request(0, some);
    t.answer(t.out.take(), 0, 1);
    t.taken(4);
    const auto early = t.out.take();
    CHECK(CachedRows::asked(early) == Ids{8, 9});
    t.answer(early, 0, 2);
    t.rows.end_step();
    t.begin(1);
    t.rows.requests().request(0, others);
    CHECK(t.out.messages.empty());
    CHECK(t.rows.requests().ahead() == 1);
    CHECK(t.taken(4) == std::vector<float>{1, 2, 2, 1});
    // They were asked for in step 0, and so are as old as the others.
    for (uint64_t step = 2; step < 4; ++step) CHECK(t.step(step, others, 3).asked.empty());
    CHECK(t.step(4, others, 3).asked == others);
  }
  SECTION("half-async: behind the gradients") {
    CachedRows t(wire::Mode::half_async, 3);
    t.begin(0);
    t.rows.requests().announce(0, others, 1);
    t.rows.requests().request(0, some);
    t.answer(t.out.take(), 0, 1);
    t.taken(4);
    CHECK(t.out.messages.empty());
    t.rows.push(0, some, std::vector<float>(4, 1.0f).data());
    t.out.take();
    t.rows.end_step();
    CHECK(CachedRows::asked(t.out.take()) == Ids{8, 9});
  }
  SECTION("a cached row that lost its place meanwhile is still there for its step") {
    CachedRows t(wire::Mode::async, 100, 2 * sets(1));  // 16 rows
    t.step(0, some, 1);
    t.begin(1);
    t.rows.requests().announce(0, some, 2);
    t.rows.requests().request(0, Ids{500});
    t.answer(t.out.take(), 1, 5);
    t.taken(1);
    CHECK(t.out.take().empty());  // all are cached
    Ids many;
    for (uint64_t id = 1000; id < 1200; ++id) many.push_back(id);
    t.rows.requests().request(0, many);
    t.answer(t.out.take(), 1, 6);
    t.taken(many.size());
    t.begin(2);
    t.rows.requests().request(0, some);
    CHECK(t.taken(4) == std::vector<float>(4, 1));
    t.out.take();
    CHECK_FALSE(t.step(3, some, 7).asked.empty());
  }
  SECTION("the last step that may use a row is the one that was announced") {
    CachedRows t(wire::Mode::async, 2);
    t.step(0, {8}, 1);
    for (uint64_t step = 1; step < 4; ++step) {
      t.begin(step);
      t.rows.requests().announce(0, Ids{8}, step + 1);
      t.rows.requests().request(0, Ids{step * 1000});
      t.answer(t.out.take(), step, 5);
      t.taken(1);
      const auto early = t.out.take();
      CHECK(CachedRows::asked(early) == (step + 1 <= 2 ? Ids{} : Ids{8}));
      t.answer(early, step, 5);
    }
  }
}

TEST_CASE("what is cached is void after a joining", "[trainer]") {
  CachedRows t(wire::Mode::async, 50);
  t.step(0, some, 1);
  CHECK(t.step(1, some, 2).asked.empty());
  t.join(2, 1);  // a rollback, a new epoch, or a shard that came back
  t.out.take();
  const auto again = t.step(1, some, 3);
  CHECK(again.asked == some);
  CHECK(again.rows == std::vector<float>(4, 3));
}

TEST_CASE("tests of the model read rows as they are on the shards", "[trainer]") {
  CachedRows t(wire::Mode::async, 50);
  t.step(0, some, 1);
  t.rows.requests().read_at(1);
  t.rows.requests().request(0, some);
  const auto sent = t.out.take();
  CHECK(CachedRows::asked(sent) == some);
  t.answer(sent, 1, 9);
  CHECK(t.taken(4) == std::vector<float>(4, 9));
  // What a test has read is not kept.
  const auto next = t.step(1, some, 5);
  CHECK(next.asked.empty());
  CHECK(next.rows == std::vector<float>(4, 1));
}

}  // namespace row_cache_test
