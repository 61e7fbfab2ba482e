// Dumps of a table: whole and of changes, while updates go on, into other numbers of shards,
// damaged.
#include <catch2/catch.hpp>
#include <map>

#include "base/error.h"
#include "support.h"
#include "table/table.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {

using Parts = std::vector<std::vector<std::byte>>;

void push_step(Table& table, uint64_t step, size_t count = 3000, uint64_t span = 20000) {
  const auto ids = distinct_ids(step, count, span);
  const auto grads = gradients(ids, table.options().width, step);
  table.push(ids, grads.data(), 0.1f, step);
}

Parts dump(Table& table, uint64_t since, uint64_t* mark = nullptr) {
  const uint64_t at = table.begin_dump(since);
  if (mark) *mark = at;
  Parts parts;
  std::vector<std::byte> part;
  while (table.dump_part(part)) parts.push_back(part);
  table.end_dump();
  return parts;
}

void load(Table& table, const Parts& parts) {
  for (const auto& p : parts) table.load_part(p);
}

}  // namespace

TEST_CASE("a dump read into any number of shards is the same table", "[table]") {
  const TableOptions o = small_table("adam", 6);
  Table table(o);
  for (uint64_t step = 0; step < 6; ++step) push_step(table, step);
  const Parts parts = dump(table, 0);
  for (const uint32_t shards : {1u, 3u, 5u}) {
    uint64_t digest = 0;
    size_t rows = 0;
    for (uint32_t s = 0; s < shards; ++s) {
      Table shard(o);
      for (const auto& p : parts) shard.load_part(p, s, shards);
      digest += shard.digest();
      rows += shard.rows();
    }
    CHECK(digest == table.digest());
    CHECK(rows == table.rows());
  }
  Table again(o);
  load(again, parts);
  push_step(table, 6);
  push_step(again, 6);
  CHECK(again.digest() == table.digest());
}

TEST_CASE("a dump holds the rows as they were when it began", "[table]") {
  const TableOptions o = small_table("adagrad", 16);
  Table table(o);
  for (uint64_t step = 0; step < 12; ++step) push_step(table, step, 20000, 200000);
  const uint64_t digest = table.digest();
  table.begin_dump();
  Parts parts;
  std::vector<std::byte> part;
  uint64_t step = 12;
  while (table.dump_part(part)) {
    parts.push_back(part);
    push_step(table, step++, 20000, 400000);  // changes rows, adds others, splits segments
  }
  table.end_dump();
  CHECK(parts.size() > 2);
  CHECK(table.digest() != digest);
  Table copy(o);
  load(copy, parts);
  CHECK(copy.digest() == digest);
}

TEST_CASE("parts are short, and rows that move between them are in it", "[table]") {
  TableOptions o = small_table("adagrad", 16);
  o.expiry.unseen_steps = 1;
  for (const uint64_t seed : {1, 2, 3, 4}) {
    Table table(o);
    uint64_t step = 0;
    for (; step < 12; ++step) push_step(table, step, 40000, 200000);
    const uint64_t digest = table.digest();
    table.begin_dump();
    std::vector<std::byte> part;
    Table copy(o);
    uint64_t from = 0, parts = 0;
    for (Table::Expired gone; table.dump_part(part); ++parts) {
      REQUIRE(part.size() < 10u << 20);
      copy.load_part(part);
      if (parts % seed == 0) table.expire_part(from, step + 2, false, gone);  // moves last rows
      push_step(table, step++, 300, 400000);  // not all ids: some rows go and come back
    }
    table.end_dump();
    CHECK(parts > 3);
    CHECK(copy.digest() == digest);
  }
}

TEST_CASE("rows that go before they are written and come back behind the walk are in it",
          "[table]") {
  TableOptions o = small_table("sgd", 16);
  o.expiry.unseen_steps = 3;
  Table table(o);
  for (uint64_t step = 0; step < 8; ++step) push_step(table, step, 20000, 200000);
  const uint64_t digest = table.digest();
  table.begin_dump();
  Parts parts(1);
  REQUIRE(table.dump_part(parts[0]));
  Table::Expired gone;
  for (uint64_t from = 0; table.expire_part(from, 20, false, gone);) {
  }
  CHECK(table.rows() == 0);
  std::vector<std::byte> part;
  while (table.dump_part(part)) {
    parts.push_back(part);
    for (uint64_t step = 0; step < 8; ++step) push_step(table, 20 + step, 20000, 200000);
  }
  table.end_dump();
  Table copy(o);
  load(copy, parts);
  CHECK(copy.digest() == digest);
}

TEST_CASE("rows that expire while a dump is written are in it", "[table]") {
  TableOptions o = small_table("sgd", 16);
  o.expiry.unseen_steps = 3;
  Table table(o);
  for (uint64_t step = 0; step < 8; ++step) push_step(table, step, 20000, 200000);
  const uint64_t digest = table.digest();
  table.begin_dump();
  Parts parts(1);
  REQUIRE(table.dump_part(parts[0]));
  uint64_t from = 0;
  Table::Expired sum;
  while (table.expire_part(from, 8, false, sum)) {
  }
  CHECK(sum.rows > 1000);
  std::vector<std::byte> part;
  while (table.dump_part(part)) parts.push_back(part);
  table.end_dump();
  Table copy(o);
  load(copy, parts);
  CHECK(copy.digest() == digest);
}

TEST_CASE("dumps of changes make up for the whole", "[table]") {
  TableOptions o = small_table("momentum", 5);
  o.expiry.unseen_steps = 5;
  Table table(o), copy(o);
  uint64_t mark = 0, step = 0;
  size_t whole = 0;
  for (int turn = 0; turn < 5; ++turn) {
    for (int k = 0; k < 3; ++k) push_step(table, step++);
    uint64_t from = 0;
    Table::Expired sum;
    while (table.expire_part(from, step, false, sum)) {
    }
    CHECK((turn == 0) == (sum.rows == 0));
    const Parts parts = dump(table, mark, &mark);
    size_t bytes = 0;
    for (const auto& p : parts) bytes += p.size();
    if (turn == 0) whole = bytes;
    load(copy, parts);
    CHECK(copy.digest() == table.digest());
    CHECK(copy.rows() == table.rows());
  }
  CHECK(whole > 0);
}

TEST_CASE("damaged, missing and foreign parts are refused", "[table]") {
  const TableOptions o = small_table("adagrad", 16);
  Table table(o);
  for (uint64_t step = 0; step < 8; ++step) push_step(table, step, 20000, 200000);
  uint64_t mark = 0;
  Parts parts = dump(table, 0, &mark);
  REQUIRE(parts.size() >= 2);
  Table copy(o);
  SECTION("a bit") {
    for (const size_t at : {size_t{3}, size_t{20}, size_t{70}, parts[0].size() - 1}) {
      auto bad = parts[0];
      bad[at] ^= std::byte{4};
      CHECK_THROWS_WITH(copy.load_part(bad), Contains("is damaged") || Contains("is none"));
    }
    CHECK(copy.rows() == 0);
  }
  SECTION("an end") {
    for (const size_t size : {size_t{0}, size_t{63}, size_t{64}, parts[0].size() - 1}) {
      auto bad = parts[0];
      bad.resize(size);
      CHECK_THROWS_AS(copy.load_part(bad), Error);
    }
    CHECK(copy.rows() == 0);
  }
  SECTION("a part is missing") {
    CHECK_THROWS_WITH(copy.load_part(parts[1]), Contains("one before it is missing"));
  }
  SECTION("a dump of changes is missing") {
    push_step(table, 8);
    const Parts lost = dump(table, mark, &mark);
    push_step(table, 9);
    const Parts next = dump(table, mark, &mark);
    load(copy, parts);
    CHECK_THROWS_WITH(copy.load_part(next[0]), Contains("changes to another dump"));
    load(copy, lost);
    load(copy, next);
    CHECK(copy.digest() == table.digest());
  }
  SECTION("another table") {
    TableOptions other = o;
    other.rule = "momentum";
    other.settings = {{"mu", 0.5f}};
    CHECK_THROWS_WITH(Table(other).load_part(parts[0]), Contains("another name, width"));
  }
}

TEST_CASE("a table is copied part by part without a dump", "[table]") {
  const TableOptions o = small_table("adam", 6);
  Table table(o);
  for (uint64_t step = 0; step < 6; ++step) push_step(table, step, 30000, 1u << 20);
  SECTION("the same rows, in several parts") {
    Table copy(o);
    std::vector<std::byte> chunk;
    uint64_t from = 0;
    uint32_t parts = 0;
    for (bool more = true; more;) {
      more = table.copy_part(from, parts++, chunk);
      copy.load_part(chunk);
    }
    CHECK(parts > 1);
    CHECK(copy.digest() == table.digest());
    CHECK(copy.rows() == table.rows());
  }
  SECTION("rows that are there all the time come once, whatever is added in between") {
    std::map<uint64_t, int> seen;
    std::vector<std::byte> chunk;
    const auto before = distinct_ids(0, 30000, 1u << 20);
    uint64_t from = 0, step = 6;
    uint32_t parts = 0;
    for (bool more = true; more; ++step) {
      more = table.copy_part(from, parts++, chunk);
      read_part(chunk, table.format()).each_row([&](const std::byte* row) {
        ++seen[head_of(row)->id];
      });
      push_step(table, step, 20000, 1u << 22);
    }
    for (const auto& [id, times] : seen) CHECK(times == 1);
    for (const uint64_t id : before) CHECK(seen.count(id) == 1);
  }
  SECTION("an empty table is one part") {
    Table none(o);
    std::vector<std::byte> chunk;
    uint64_t from = 0;
    CHECK_FALSE(none.copy_part(from, 0, chunk));
    CHECK(read_part(chunk, none.format()).head.rows == 0);
  }
}
