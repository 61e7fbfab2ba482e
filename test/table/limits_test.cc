// Admission, expiry and the limit of memory.
#include <catch2/catch.hpp>
#include <numeric>

#include "base/error.h"
#include "support.h"
#include "table/table.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {

void push_ids(Table& table, const std::vector<uint64_t>& ids, uint64_t step) {
  const auto grads = gradients(ids, table.options().width, step);
  table.push(ids, grads.data(), 0.1f, step);
}

std::vector<uint64_t> range(uint64_t begin, uint64_t end) {
  std::vector<uint64_t> out(end - begin);
  std::iota(out.begin(), out.end(), begin);
  return out;
}

Table::Expired expire(Table& table, uint64_t step, bool dry_run) {
  uint64_t from = 0;
  Table::Expired sum;
  while (table.expire_part(from, step, dry_run, sum)) {
  }
  return sum;
}

}  // namespace

TEST_CASE("an id gets a row with its third update", "[table]") {
  TableOptions o = small_table();
  o.admission.min_count = 3;
  Table table(o);
  push_ids(table, {1, 2}, 0);
  push_ids(table, {1}, 1);
  CHECK(table.rows() == 0);
  CHECK(table.counters().not_admitted == 3);
  push_ids(table, {1, 3}, 2);
  CHECK(table.rows() == 1);
  REQUIRE(table.find(1));
  CHECK(table.find(1)->count == 1);
  CHECK_FALSE(table.find(2));
}

TEST_CASE("an id that waits for admission and is not seen for long begins anew", "[table]") {
  TableOptions o = small_table();
  o.admission.min_count = 3;
  o.expiry.unseen_steps = 5;
  Table table(o);
  push_ids(table, {1, 2}, 0);
  push_ids(table, {1, 2}, 1);
  push_ids(table, {2}, 7);
  CHECK(table.rows() == 1);
  expire(table, 6, false);
  push_ids(table, {1}, 8);
  CHECK(table.rows() == 2);  // seen at 1, which is not long before 6
  push_ids(table, {3}, 9);
  push_ids(table, {3}, 10);
  expire(table, 16, true);
  expire(table, 16, false);
  push_ids(table, {3}, 17);
  CHECK_FALSE(table.find(3));
}

TEST_CASE("admission by chance depends on the id and the step alone", "[table]") {
  TableOptions o = small_table();
  o.admission.probability = 0.25f;
  Table one(o), two(o);
  auto ids = range(0, 8000);
  push_ids(one, ids, 0);
  CHECK(double(one.rows()) == Approx(2000).epsilon(0.08));
  CHECK(one.counters().not_admitted == 8000 - one.rows());
  std::reverse(ids.begin(), ids.end());
  push_ids(two, ids, 0);
  CHECK(two.digest() == one.digest());
  push_ids(one, ids, 1);
  CHECK(double(one.rows()) == Approx(3500).epsilon(0.08));
}

TEST_CASE("rows expire when they were not updated for long", "[table]") {
  TableOptions o = small_table();
  o.expiry.unseen_steps = 10;
  Table table(o);
  push_ids(table, range(0, 1000), 0);
  push_ids(table, range(500, 1500), 5);
  CHECK(expire(table, 10, false).rows == 0);
  CHECK(expire(table, 11, true).rows == 500);
  CHECK(table.rows() == 1500);
  const Table::Expired sum = expire(table, 11, false);
  CHECK(sum.seen == 1500);
  CHECK(sum.rows == 500);
  CHECK(table.rows() == 1000);
  CHECK(table.counters().expired == 500);
  CHECK_FALSE(table.find(0));
  CHECK(table.find(500));
  // An id that comes back begins anew, with the same first values.
  std::vector<float> first(5), again(5);
  Table(o).pull(std::vector<uint64_t>{0}, first.data());
  table.pull(std::vector<uint64_t>{0}, again.data());
  CHECK(same_bits(first, again));
}

TEST_CASE("rows expire when their score is low, down to the floor", "[table]") {
  TableOptions o = small_table();
  o.expiry.min_score = 2;
  Table table(o);
  push_ids(table, range(0, 1000), 0);
  push_ids(table, range(0, 400), 1);
  CHECK(expire(table, 1, true).rows == 600);
  o.expiry.floor = 900;
  Table kept(o);
  push_ids(kept, range(0, 1000), 0);
  CHECK(expire(kept, 0, true).rows == 100);
  CHECK(expire(kept, 0, false).rows == 100);
  CHECK(kept.rows() == 900);
  CHECK(expire(kept, 0, false).rows == 0);
  o.expiry = {.min_score = 1, .half_life = 4};
  Table fading(o);
  push_ids(fading, range(0, 10), 0);
  push_ids(fading, range(0, 5), 0);
  CHECK(expire(fading, 3, true).rows == 5);
  CHECK(expire(fading, 5, true).rows == 10);
}

TEST_CASE("a push beyond the limit changes nothing", "[table]") {
  TableOptions o = small_table("adagrad", 16);
  o.memory_limit = 3 << 20;
  Table table(o);
  uint64_t step = 0;
  for (; step < 15; ++step) push_ids(table, range(step * 1000, step * 1000 + 1000), step);
  const uint64_t digest = table.digest();
  const size_t rows = table.rows();
  CHECK_THROWS_WITH(
      push_ids(table, range(14000, 64000), step),
      Contains("memory limit is 3145728 bytes") && Contains("adding rows to the table 'emb'"));
  CHECK(table.rows() == rows);
  CHECK(table.digest() == digest);
  CHECK(table.row_memory() <= o.memory_limit + (64 << 10));  // lists of blocks come on top
  push_ids(table, range(0, 1000), step);
  CHECK(table.rows() == rows);
  CHECK(table.digest() != digest);
}

TEST_CASE("a table at its limit evicts the rows with the lowest scores", "[table]") {
  TableOptions o = small_table("adagrad", 16);
  o.memory_limit = 4 << 20;
  o.evict = true;
  Table table(o);
  const auto hot = range(0, 2000);
  for (uint64_t step = 0; step < 60; ++step) {
    push_ids(table, hot, 2 * step);
    push_ids(table, range(10000 + step * 1000, 11000 + step * 1000), 2 * step + 1);
  }
  CHECK(table.counters().evicted > 10000);
  for (const uint64_t id : hot) REQUIRE(table.find(id));
  for (const uint64_t id : range(69000, 70000)) REQUIRE(table.find(id));
  CHECK(table.row_memory() <= o.memory_limit + (64 << 10));
}

TEST_CASE("options that make no sense are refused with the table's name", "[table]") {
  TableOptions o = small_table();
  SECTION("width") {
    o.width = 0;
    CHECK_THROWS_WITH(Table(o), Contains("the table 'emb': a row has 1 to 65536 values"));
  }
  SECTION("probability") {
    o.admission.probability = 0;
    CHECK_THROWS_WITH(Table(o), Contains("probability of admission"));
  }
}
