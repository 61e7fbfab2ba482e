#include "pserver/job_totals.h"

#include <catch2/catch.hpp>

#include "base/random.h"
#include "obs/tally.h"
#include "obs/totals.h"
#include "pserver/plain_shard.h"
#include "support/quiet_log.h"

using namespace paddle;
using Catch::Matchers::Contains;

namespace job_totals_test {

bool all(uint32_t) { return true; }

// One trainer's way through its passes: it counts predictions, and gives what it has counted.
struct Counter {
  explicit Counter(size_t bins = 64) : positive(bins), negative(bins) {}
  // A batch of records. Click and prediction of trainers differ.
  void batch(const RandomStream& random, uint64_t trainer, uint64_t number, uint64_t records) {
    window_positive.assign(positive.size(), 0);
    window_negative.assign(negative.size(), 0);
    for (uint64_t i = 0; i < records; ++i) {
      const uint64_t bits = random.bits((trainer << 40) + (number << 20) + i);
      const bool click = (bits >> 32) % (2 + 3 * trainer) == 0;
      // The first trainer predicts well, the next ones worse and worse, and shifted.
      const uint64_t bin =
          std::min<uint64_t>(positive.size() - 1, (click ? 20 / (1 + trainer) : 0) + 7 * trainer +
                                                      bits % (10 + 10 * trainer));
      ++(click ? positive : negative)[bin];
      ++(click ? window_positive : window_negative)[bin];
      over += static_cast<double>(bin);
      under += click;
      ++samples;
      cost += static_cast<double>(bits % 7);
    }
    ++done;
  }
  wire::Tally tally(uint64_t pass, bool ended = false) const {
    wire::Tally out{.pass = pass,
                    .batch = done,
                    .first_batch = first,
                    .pass_ended = ended,
                    .samples = samples,
                    .cost = cost};
    out.counts.push_back({.name = "auc", .kind = wire::CountKind::histogram});
    out.counts.back().bins = histogram_of(positive, negative);
    out.counts.push_back({.name = "batch_auc", .kind = wire::CountKind::window});
    out.counts.back().bins = histogram_of(window_positive, window_negative);
    out.counts.push_back({.name = "calibration", .over = over, .under = under});
    return out;
  }
  std::vector<int64_t> positive, negative, window_positive, window_negative;
  double over = 0, under = 0, cost = 0;
  uint64_t samples = 0, done = 0, first = 0;
};

// The counts of one process that sees what all of these have seen.
struct Together : Counter {
  void add(const Counter& c) {
    for (size_t b = 0; b < positive.size(); ++b) {
      positive[b] += c.positive[b];
      negative[b] += c.negative[b];
    }
    samples += c.samples;
  }
  double area() const { return roc_area(histogram_of(positive, negative)); }
};

double number(const wire::Sums& sums, const std::string& name) {
  for (const wire::Number& n : sums.evaluators)
    if (n.name == name) return n.value;
  FAIL("no " << name);
  return 0;
}

TEST_CASE("totals are those of one process that sees all records", "[pserver]") {
  const RandomStream random(GENERATE(1u, 2u, 3u), 0);
  constexpr uint32_t trainers = 3;
  constexpr uint64_t period = 4;
  JobTotals totals;
  for (uint64_t pass = 0; pass < 2; ++pass) {
    std::vector<Counter> counters(trainers);
    Together before;
    uint64_t reported = 0;
    // Trainers have different numbers of batches, of very different sizes.
    for (uint64_t batch = 0; batch < 14; ++batch) {
      for (uint32_t t = 0; t < trainers; ++t) {
        const uint64_t batches = 14 - 3 * t;
        if (batch >= batches) continue;
        counters[t].batch(random, t, pass * 100 + batch, 5 + 200 * t);
        std::vector<wire::Tally> sent;
        if ((batch + 1) % period == 0) sent.push_back(counters[t].tally(pass));
        if (batch + 1 == batches) sent.push_back(counters[t].tally(pass, true));
        for (const wire::Tally& tally : sent)
          for (const wire::Totals& got : totals.take(t, tally, trainers, all)) {
            Together now, change;
            for (const Counter& c : counters) now.add(c);
            change = now;
            for (size_t b = 0; b < now.positive.size(); ++b) {
              change.positive[b] -= before.positive[b];
              change.negative[b] -= before.negative[b];
            }
            CHECK(got.trainers == trainers);
            CHECK(got.pass == pass);
            CHECK(got.first_batch == reported);
            CHECK(got.whole.samples == now.samples);
            CHECK(number(got.whole, "auc") == now.area());
            REQUIRE(got.period);
            CHECK(got.period->samples == now.samples - before.samples);
            CHECK(number(*got.period, "auc") == change.area());
            double over = 0, under = 0, cost = 0;
            Histogram window;
            for (const Counter& c : counters) {
              over += c.over;
              under += c.under;
              cost += c.cost;
              add(histogram_of(c.window_positive, c.window_negative), window);
            }
            CHECK(number(got.whole, "calibration") == Approx(over / under));
            CHECK(got.whole.cost == Approx(cost / static_cast<double>(now.samples)));
            CHECK(number(got.whole, "batch_auc") == roc_area(window));
            before = now;
            reported = got.batch;
            CHECK(got.pass_ended == (got.batch == 14));
          }
      }
    }
    CHECK(reported == 14);
  }
}

TEST_CASE("totals wait for trainers that are slower", "[pserver]") {
  const RandomStream random(5, 0);
  JobTotals totals;
  Counter fast, slow;
  for (uint64_t b = 0; b < 6; ++b) {
    fast.batch(random, 0, b, 10);
    CHECK(totals.take(0, fast.tally(0), 2, all).empty());
  }
  CHECK(totals.take(0, fast.tally(0, true), 2, all).empty());
  for (uint64_t b = 0; b < 6; ++b) {
    slow.batch(random, 1, b, 20);
    const auto got = totals.take(1, slow.tally(0), 2, all);
    REQUIRE(got.size() == 1);
    CHECK(got[0].batch == b + 1);
    CHECK(got[0].whole.samples == 30 * (b + 1));
    CHECK(got[0].period->samples == 30);
  }
  const auto ended = totals.take(1, slow.tally(0, true), 2, all);
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].pass_ended);
  SECTION("what comes twice counts once") {
    CHECK(totals.take(1, slow.tally(0, true), 2, all).empty());
    CHECK(totals.take(1, slow.tally(0), 2, all).empty());
  }
  SECTION("a pass of the past is forgotten") {
    for (uint32_t t = 0; t < 2; ++t) totals.take(t, fast.tally(1, true), 2, all);
    CHECK(totals.take(1, slow.tally(0, true), 2, all).empty());
  }
}

TEST_CASE("counts that were lost are made good by the next ones", "[pserver]") {
  const RandomStream random(5, 0);
  JobTotals totals;
  Counter a, b;
  for (uint64_t n = 0; n < 3; ++n) {
    a.batch(random, 0, n, 10);
    b.batch(random, 1, n, 10);
    CHECK(totals.take(0, a.tally(0), 2, all).empty());
    if (n == 1) continue;  // lost
    const auto got = totals.take(1, b.tally(0), 2, all);
    REQUIRE(got.size() == 1);
    CHECK(got[0].first_batch == 0 + (n == 2 ? 1 : 0));
    CHECK(got[0].period->samples == (n == 2 ? 40 : 20));
  }
}

TEST_CASE("a trainer that is lost for good is not waited for", "[pserver]") {
  const RandomStream random(5, 0);
  JobTotals totals;
  Counter a, b;
  a.batch(random, 0, 0, 10);
  b.batch(random, 1, 0, 10);
  totals.take(0, a.tally(0), 2, all);
  totals.take(1, b.tally(0), 2, all);
  a.batch(random, 0, 1, 10);
  CHECK(totals.take(0, a.tally(0), 2, all).empty());
  const auto got = totals.members_changed(2, [](uint32_t t) { return t == 0; });
  REQUIRE(got.size() == 1);
  CHECK(got[0].trainers == 1);
  CHECK(got[0].whole.samples == 20);
}

TEST_CASE("a trainer that begins in the middle of a pass", "[pserver]") {
  const RandomStream random(5, 0);
  JobTotals totals;
  Counter a, b, later;
  for (uint64_t n = 0; n < 2; ++n) {
    a.batch(random, 0, n, 10);
    b.batch(random, 1, n, 10);
  }
  totals.take(0, a.tally(0), 2, all);
  totals.take(1, b.tally(0), 2, all);
  later.first = later.done = 1;  // it was started again
  for (uint64_t n = 2; n < 4; ++n) {
    a.batch(random, 0, n, 10);
    later.batch(random, 1, n, 10);
    totals.take(0, a.tally(0), 2, all);
    if (n == 2) {  // until it has done as many batches as the others, its count of the period is
                   // not known
      ++later.done;
      const auto got = totals.take(1, later.tally(0), 2, all);
      REQUIRE(got.size() == 1);
      CHECK(got[0].whole.samples == 40);
      CHECK_FALSE(got[0].period);
    } else {
      const auto got = totals.take(1, later.tally(0), 2, all);
      REQUIRE(got.size() == 1);
      REQUIRE(got[0].period);
      CHECK(got[0].period->samples == 20);
    }
  }
}

TEST_CASE("evaluators that not all trainers sent have no number", "[pserver]") {
  JobTotals totals;
  wire::Tally a{.pass_ended = true, .samples = 4, .cost = 8}, b = a;
  a.counts = {{.name = "auc", .over = 1, .under = 2}, {.name = "mean", .over = 3, .under = 4}};
  b.counts = {{.name = "mean", .over = 1, .under = 4}};
  totals.take(0, a, 2, all);
  const auto got = totals.take(1, b, 2, all);
  REQUIRE(got.size() == 1);
  CHECK(totals_text(totals_event(got[0])) == "pass 1 of all trainers: 8 samples, cost 2, mean 0.5");
}

TEST_CASE("numbers within a pass have those of the period", "[pserver]") {
  CHECK(totals_text({.trainers = 2,
                     .pass = 1,
                     .batch = 200,
                     .samples = 40000,
                     .cost = 0.5,
                     .evaluators = {{"auc", 0.75}},
                     .first_batch = 100,
                     .period_samples = 20000,
                     .period_cost = 0.25,
                     .period_evaluators = {{"auc", 0.8}}}) ==
        "pass 2, batch 200 of all trainers: 40000 samples, cost 0.5, auc 0.75; since batch 100: "
        "cost 0.25, auc 0.8");
}

// What a peer sends may be anything.
TEST_CASE("totals stay small whatever trainers send", "[pserver]") {
  const RandomStream random(7, 0);
  JobTotals totals;
  for (uint64_t i = 0; i < 20000; ++i) {
    wire::Tally t{.pass = random.bits(4 * i) % (i % 3 == 0 ? 5 : ~uint64_t{0}),
                  .batch = random.bits(4 * i + 1) % 100,
                  .first_batch = random.bits(4 * i + 2) % 3,
                  .pass_ended = random.bits(4 * i + 3) % 4 == 0,
                  .samples = random.bits(i) % 100};
    totals.take(static_cast<uint32_t>(random.bits(5 * i) % 4), t, 3, all);
  }
  CHECK(totals.passes() <= 64);
}

// Of two trainers, and one event each time.
TEST_CASE("a shard has the numbers of all trainers in its status", "[pserver]") {
  const QuietLog quiet;
  size_t events = 0;
  ShardOptions options;
  options.calls.on_totals = [&](const event::Totals& t) { events += t.trainers == 2; };
  PlainShard shard(options);
  const PeerId peers[] = {shard.greet(0, 2), shard.greet(1, 2)};
  CHECK(shard.shard.status(shard.now).totals.trainers == 0);
  Counter counter;
  counter.batch(RandomStream(5, 0), 0, 0, 10);
  shard.say(peers[0], counter.tally(0));
  CHECK(events == 0);
  shard.say(peers[1], counter.tally(0));
  CHECK(events == 1);
  CHECK(shard.shard.status(shard.now).totals.whole.samples == 20);
  wire::Tally bad = counter.tally(0);
  SECTION("bins that do not rise are a damaged message") {
    std::swap(bad.counts[0].bins.front(), bad.counts[0].bins.back());
    CHECK_THROWS_WITH(shard.say(peers[0], bad), Contains("counts of 'auc' that do not rise"));
  }
  SECTION("so are too many of them") {
    bad.counts[0].bins.clear();
    for (uint64_t bin = 0; bin <= wire::max_bins; ++bin) bad.counts[0].bins.push_back({bin, 1, 0});
    CHECK_THROWS_WITH(shard.say(peers[0], bad), Contains("counts of 1310"));
  }
}

}  // namespace job_totals_test
