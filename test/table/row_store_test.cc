// The store against a plain map, under random inserts, erases and lookups.
#include "table/row_store.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"

using namespace paddle;
using Catch::Matchers::Contains;

namespace {

constexpr size_t small_row = 24;  // a head and 8 bytes

void fill_row(std::byte* row, uint64_t value) { std::memcpy(row + 16, &value, 8); }
uint64_t row_value(const std::byte* row) {
  uint64_t v;
  std::memcpy(&v, row + 16, 8);
  return v;
}

// Ids with the corners of their range among them; neighbours and equal low bits too.
uint64_t some_id(const RandomStream& random, uint64_t i, uint64_t span) {
  const uint64_t n = random.below(i, span);
  switch (n % 4) {
    case 0: return n / 4;
    case 1: return ~(n / 4);
    case 2: return (n / 4) << 40;
    default: return mix64(n);
  }
}

}  // namespace

TEST_CASE("a store does what a map does", "[table]") {
  for (const uint64_t seed : {1, 2, 3}) {
    for (const uint64_t span : {50, 3000, 120000}) {
      CAPTURE(seed, span);
      MemoryLimit budget;
      RowStore store(small_row, budget);
      std::unordered_map<uint64_t, uint64_t> expected;
      const RandomStream random(seed, span);
      for (uint64_t i = 0; i < 4 * span; ++i) {
        const uint64_t id = some_id(random, 2 * i, span);
        const bool erase = random.below(2 * i + 1, 10) < (i % (2 * span) < span ? 2u : 7u);
        if (erase) {
          REQUIRE(store.erase(id) == (expected.erase(id) == 1));
        } else if (expected.contains(id)) {
          const std::byte* row = store.find(id);
          REQUIRE(row != nullptr);
          REQUIRE(row_value(row) == expected[id]);
        } else {
          REQUIRE(store.find(id) == nullptr);
          fill_row(store.insert(id), i);
          expected[id] = i;
        }
        REQUIRE(store.size() == expected.size());
      }
      std::unordered_set<uint64_t> seen;
      uint64_t from = 0;
      do {
      } while (store.visit(from, [&](const std::byte* row) {
        const uint64_t id = head_of(row)->id;
        REQUIRE(seen.insert(id).second);
        REQUIRE(expected.at(id) == row_value(row));
      }));
      REQUIRE(seen.size() == expected.size());
      REQUIRE(budget.held() <= store.bytes());
    }
  }
}

TEST_CASE("a store that expects rows is like another one", "[table]") {
  for (const size_t expected : {size_t{10}, size_t{40000}, size_t{300000}, size_t{4000000}}) {
    CAPTURE(expected);
    MemoryLimit budget;
    RowStore store(40, budget);
    store.expect(expected);
    const size_t segments = store.segments();
    CHECK(store.find(1) == nullptr);
    for (uint64_t id = 0; id < 300000; ++id) fill_row(store.insert(id), id * 3);
    if (expected >= 300000) CHECK(store.segments() == segments);
    store.expect(expected);  // not empty: nothing happens
    CHECK(store.size() == 300000);
    for (uint64_t id = 0; id < 300000; id += 3) REQUIRE(store.erase(id));
    size_t seen = 0;
    uint64_t from = 0;
    do {
    } while (store.visit(from, [&](const std::byte* row) {
      ++seen;
      REQUIRE(row_value(row) == head_of(row)->id * 3);
    }));
    CHECK(seen == 200000);
    for (uint64_t id = 0; id < 300000; ++id) REQUIRE((store.find(id) != nullptr) == (id % 3 != 0));
  }
  MemoryLimit budget;
  RowStore store(40, budget);
  std::vector<uint64_t> ids;
  for (uint64_t i = 0; i < 400000; ++i) ids.push_back(mix64(i));
  std::sort(ids.begin(), ids.end(),
            [](uint64_t a, uint64_t b) { return row_hash(a) < row_hash(b); });
  store.expect(ids.size());
  for (const uint64_t id : ids) store.insert(id);  // as they come from a dump
  RowStore grown(40, budget);
  for (const uint64_t id : ids) grown.insert(id);
  CHECK(store.bytes() < grown.bytes() * 102 / 100);
}

TEST_CASE("a store finds many rows at once, and says which are absent", "[table]") {
  MemoryLimit budget;
  RowStore store(80, budget);
  for (uint64_t id = 0; id < 200000; id += 2) std::memcpy(store.insert(id) + 16, &id, 8);
  CHECK(store.segments() > 1);
  for (const size_t count : {0, 1, 23, 24, 25, 47, 48, 49, 1000}) {
    std::vector<uint64_t> ids;
    for (size_t i = 0; i < count; ++i) ids.push_back(mix64(i) % 200000);
    std::vector<int> seen(count);
    store.find_each(ids, 80, [&](size_t i, const std::byte* row) {
      REQUIRE(seen.at(i)++ == 0);
      REQUIRE((row != nullptr) == (ids[i] % 2 == 0));
      if (row) REQUIRE(row_value(row) == ids[i]);
    });
    REQUIRE(std::count(seen.begin(), seen.end(), 1) == static_cast<long>(count));
  }
}

TEST_CASE("the corners of the ids are ids like others", "[table]") {
  MemoryLimit budget;
  RowStore store(16, budget);
  for (const uint64_t id : {uint64_t{0}, ~uint64_t{0}, uint64_t{1} << 63}) {
    CHECK(store.find(id) == nullptr);
    store.insert(id);
    const uint64_t found = head_of(store.find(id))->id;
    CHECK(found == id);
  }
  CHECK(store.erase(0));
  CHECK_FALSE(store.erase(0));
  CHECK(store.find(~uint64_t{0}) != nullptr);
}

TEST_CASE("a store that loses its rows uses their memory again", "[table]") {
  MemoryLimit budget;
  RowStore store(80, budget);
  size_t held = 0;
  for (uint64_t turn = 0; turn < 20; ++turn) {
    for (uint64_t id = 0; id < 60000; ++id) store.insert(turn * 60000 + id);
    for (uint64_t id = 0; id < 60000; ++id) REQUIRE(store.erase(turn * 60000 + id));
    if (turn == 1) held = budget.held();
    if (turn > 1) CHECK(budget.held() == held);
  }
  CHECK(store.size() == 0);
}

TEST_CASE("the index of a row costs less than 4 bytes, and growth no more", "[table]") {
  MemoryLimit budget;
  RowStore store(80, budget);
  double worst = 0;
  for (uint64_t id = 0; id < 2000000; ++id) {
    store.insert(id);
    if (id > 500000 && id % 10000 == 0)
      worst = std::max(worst, static_cast<double>(store.bytes()) / static_cast<double>(id + 1));
  }
  CAPTURE(worst);
  // Slabs are taken by 2 MB: up to 4 MB of 500,000 rows, up to 2 bytes of 2,000,000.
  CHECK(worst < 80.0 + 4.0 + 8.0);
  CHECK(static_cast<double>(store.bytes()) / 2e6 < 80.0 + 4.0 + 2.0);
}

TEST_CASE("a store at its limit refuses a row, keeps the others and goes on after an erase",
          "[table]") {
  MemoryLimit budget(1 << 20);
  RowStore store(80, budget);
  uint64_t id = 0;
  CHECK_THROWS_WITH(
      [&] {
        for (;; ++id) store.insert(id);
      }(),
      Contains("memory limit is 1048576 bytes") && Contains("raise memory_limit"));
  CHECK(budget.held() <= budget.limit());
  CHECK(store.size() == id);
  CHECK(id > 7000);
  for (uint64_t k = 0; k < id; ++k) REQUIRE(store.find(k) != nullptr);
  for (uint64_t k = 0; k < id; k += 2) REQUIRE(store.erase(k));
  for (uint64_t k = 0; k < id / 4; ++k) store.insert(1000000 + k);
  for (uint64_t k = 1; k < id; k += 2) REQUIRE(store.find(k) != nullptr);
  CHECK(store.size() == id / 2 + id / 4);
}

TEST_CASE("ids whose hashes share their first bits are refused before they take the memory",
          "[table]") {
  // The inverse of mix64: whoever knows it can choose hashes.
  const auto inverse = [](uint64_t z) {
    const auto unshift = [](uint64_t x, int s) {
      uint64_t y = x;
      for (int k = s; k < 64; k += s) y = x ^ (y >> s);
      return y;
    };
    z = unshift(z, 31) * 0x319642b2d24d8ec3ull;
    z = unshift(z, 27) * 0x96de1b173f119089ull;
    return unshift(z, 30) - golden;
  };
  REQUIRE(mix64(inverse(12345)) == 12345);
  MemoryLimit budget;
  RowStore store(8192, budget);
  CHECK_THROWS_WITH(
      [&] {
        for (uint64_t k = 0; k < 100000; ++k) store.insert(inverse(k));
      }(),
      Contains("chosen on purpose"));
  CHECK(store.bytes() < size_t{64} << 20);
  CHECK(store.size() >= 512);
}
