// Geo for rows by plain calls: trainers beside a table that stands for all shards.
#include "trainer/geo_rows.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "exec/table_store.h"

using namespace paddle;

namespace geo_rows_test {

using Ids = std::vector<uint64_t>;
using Floats = std::vector<float>;
constexpr int64_t width = 3;

TableSpec spec_of(const std::string& rule) {
  return {.param = "emb",
          .grad = "emb@GRAD",
          .width = width,
          .rule = rule,
          .init = "uniform",
          .init_a = -0.5f,
          .init_b = 0.5f,
          .seed = 5};
}

class Shard {
 public:
  explicit Shard(const TableSpec& spec) : table(table_options(spec)) {}
  void add(const Ids& ids, const Floats& differences) {
    Floats rows(differences.size());
    table.pull(ids, rows.data());
    for (size_t i = 0; i < rows.size(); ++i) rows[i] += differences[i];
    table.replace(ids, rows.data(), version++);
  }
  Floats rows(const Ids& ids) const {
    Floats out(ids.size() * width);
    table.pull(ids, out.data());
    return out;
  }
  Table table;
  uint64_t version = 0;
};

class Trainer {
 public:
  Trainer(Shard& shard, const TableSpec& spec, const GeoRowsOptions& options)
      : geo({spec}, options), shard_(shard) {
    geo.set_rate(0, 0.5f);
  }
  // Returns the rows that the step is computed with.
  Floats step(const Ids& ids, float grad) {
    geo.begin_step(next_step);
    Floats rows = pull(ids);
    geo.update(0, ids, Floats(rows.size(), grad).data());
    end_step();
    return rows;
  }
  Floats pull(const Ids& ids) {
    if (const auto lacking = geo.lacking(0, ids); !lacking.empty()) {
      asked = Ids(lacking.begin(), lacking.end());
      const Floats rows = shard_.rows(asked);
      std::copy(rows.begin(), rows.end(), geo.incoming(0));
      geo.arrived(0);
    } else {
      asked.clear();
    }
    Floats rows(ids.size() * width);
    geo.take(0, ids, rows.data());
    return rows;
  }
  void end_step() {
    if (geo.end_step()) exchange();
    ++next_step;
  }
  void exchange() {
    const auto [ids, values] = geo.differences(0);
    sent = Ids(ids.begin(), ids.end());
    shard_.add(sent, Floats(values, values + ids.size() * width));
    geo.exchanged(next_step);
    ++exchanges;
  }
  GeoRows geo;
  Ids asked, sent;
  uint64_t next_step = 0, exchanges = 0;

 private:
  Shard& shard_;
};

TEST_CASE("geo rows: one trainer computes what a table alone does", "[trainer]") {
  const std::string rule = GENERATE("sgd", "adagrad", "adam");
  const uint64_t steps = GENERATE(1u, 4u);
  const TableSpec spec = spec_of(rule);
  Shard shard(spec);
  Table alone(table_options(spec));
  Trainer trainer(shard, spec, {.trainers = 1, .steps = steps});
  for (uint64_t s = 0; s < 20; ++s) {
    const Ids ids = {s % 3, 7, 100 + s % 5};
    Floats expected(ids.size() * width);
    alone.pull(ids, expected.data());
    const float grad = static_cast<float>(s % 4) - 1.5f;
    const Floats rows = trainer.step(ids, grad);
    for (size_t i = 0; i < rows.size(); ++i) CHECK(rows[i] == Approx(expected[i]).margin(1e-5));
    alone.push(ids, Floats(expected.size(), grad).data(), 0.5f, s);
  }
  CHECK(trainer.exchanges == 20 / steps);
  const Ids all = {0, 1, 2, 7, 100, 101, 102, 103, 104};
  Floats expected(all.size() * width);
  alone.pull(all, expected.data());
  const Floats found = shard.rows(all);
  for (size_t i = 0; i < found.size(); ++i) CHECK(found[i] == Approx(expected[i]).margin(1e-5));
}

TEST_CASE("geo rows: the differences of several trainers add up", "[trainer]") {
  TableSpec spec = spec_of("sgd");
  spec.init = "constant";
  spec.init_a = 8;
  Shard shard(spec);
  Trainer a(shard, spec, {.trainers = 2, .steps = 2}), b(shard, spec, {.trainers = 2, .steps = 2});
  for (int i = 0; i < 2; ++i) {
    a.step({1, 2}, 1);
    b.step({2, 3}, 1);
  }
  // Two steps of rate 0.5 by each: one half of that by each comes in.
  CHECK(shard.rows({1}) == Floats(width, 7.5f));
  CHECK(shard.rows({2}) == Floats(width, 7));
  CHECK(shard.rows({3}) == Floats(width, 7.5f));
  // A row is taken over when a batch names it again, whoever has changed it.
  CHECK(a.step({2, 3}, 0)[0] == 7);
  CHECK(a.asked == Ids{2, 3});
  CHECK(a.pull({2, 3})[0] == 7);
  CHECK(a.asked.empty());
  CHECK(a.pull({2, 3})[width] == 7.5f);
}

TEST_CASE("geo rows: a step that is computed again counts once", "[trainer]") {
  TableSpec spec = spec_of("sgd");
  spec.init = "constant";
  spec.init_a = 0;
  Shard shard(spec);
  Trainer t(shard, spec, {.trainers = 1, .steps = 1});
  t.geo.begin_step(0);
  t.pull({4});
  t.geo.update(0, Ids{4}, Floats(width, 1).data());
  t.step({4}, 1);  // the same step
  CHECK(shard.rows({4}) == Floats(width, -0.5f));
  t.step({4}, 1);
  CHECK(shard.rows({4}) == Floats(width, -1));
}

TEST_CASE("geo rows: only what was updated is sent", "[trainer]") {
  Shard shard(spec_of("sgd"));
  Trainer t(shard, spec_of("sgd"), {.trainers = 1, .steps = 1});
  t.geo.begin_step(0);
  t.pull({1, 2, 3});  // a step that broke here
  t.step({2}, 1);
  CHECK(t.sent == Ids{2});
  CHECK_FALSE(t.geo.changed());
  CHECK_FALSE(t.geo.sends(0));
  CHECK(t.geo.sends(1));
  t.exchange();
  CHECK(t.sent.empty());
  CHECK(shard.table.rows() == 1);
}

TEST_CASE("geo rows: outside a step changed rows are seen, and none is kept", "[trainer]") {
  Shard shard(spec_of("sgd"));
  Trainer t(shard, spec_of("sgd"), {.trainers = 1, .steps = 10});
  const Floats first = t.step({1}, 1);
  CHECK_FALSE(t.geo.in_step());
  Floats rows = shard.rows({9, 1});
  t.geo.replace_changed(0, Ids{9, 1}, rows.data());
  CHECK(rows[0] == shard.rows({9})[0]);
  CHECK(rows[width] == first[0] - 0.5f);
  CHECK(t.geo.rows(0) == 1);
}

TEST_CASE("geo rows: what is forgotten is told once per period", "[trainer]") {
  const TableSpec spec = spec_of("adagrad");
  Shard shard(spec);
  Trainer t(shard, spec, {.trainers = 1, .steps = 1, .memory = 1});  // of 1024 rows
  Ids ids(300);
  uint64_t told = 0, tellings = 0, last = 0;
  for (uint64_t s = 0; s < 2500; ++s) {
    std::iota(ids.begin(), ids.end(), s * ids.size());
    t.step(ids, 1);
    if (const uint64_t rows = t.geo.take_forgotten(s)) {
      CHECK((tellings == 0 || s == last + GeoRows::forgotten_period));
      ++tellings;
      told += rows;
      last = s;
    }
  }
  CHECK(tellings == 3);
  told += t.geo.take_forgotten(last + GeoRows::forgotten_period);
  CHECK(told == 2500 * ids.size() - t.geo.rows(0));  // none of them unseen
}

// Each batch has new ids and one that is in every batch.
TEST_CASE("geo rows: memory stays within its bound", "[trainer]") {
  const uint64_t steps = GENERATE(20u, 1000u);
  const TableSpec spec = spec_of("adagrad");
  Shard shard(spec);
  constexpr uint64_t memory = 8u << 20, batches = 400;
  Trainer t(shard, spec, {.trainers = 1, .steps = steps, .memory = memory});
  Ids ids(1000);
  for (uint64_t s = 0; s < batches; ++s) {
    std::iota(ids.begin(), ids.end(), s * ids.size());
    ids[0] = ~0ull;
    t.step(ids, 1);
    REQUIRE(t.geo.bytes() <= memory);
  }
  t.exchange();
  CHECK(shard.table.rows() == batches * 999 + 1);
  if (steps == 1000) {
    CHECK(t.exchanges > 5);  // before they are due
    return;
  }
  // The row of every batch has kept its state, though others were forgotten.
  CHECK(t.geo.rows(0) < batches * 999 / 5);
  Table alone(table_options(spec));
  for (uint64_t s = 0; s < batches; ++s) alone.push(Ids{~0ull}, Floats(width, 1).data(), 0.5f, s);
  Floats expected(width);
  alone.pull(Ids{~0ull}, expected.data());
  CHECK(shard.rows({~0ull})[0] == Approx(expected[0]).margin(1e-3));
}

}  // namespace geo_rows_test
