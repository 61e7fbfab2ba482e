#include "trainer/lost_report.h"

#include <catch2/catch.hpp>

using namespace paddle;

// Slices 0 and 1 are on shard 0, slice 2 is on shard 1.
TEST_CASE("lost updates are logged for each shard", "[trainer]") {
  LostReport report;
  const auto take = [&](std::vector<uint64_t> lost) {
    std::vector<std::vector<uint64_t>> out;
    for (const LostReport::Line& l : report.take(lost, [](size_t i) { return i / 2; }))
      out.push_back({l.slice, l.more, l.all});
    return out;
  };
  using Lines = std::vector<std::vector<uint64_t>>;
  CHECK(take({0, 0, 0}).empty());
  CHECK(take({5, 6, 0}) == Lines{{1, 6, 6}});
  CHECK(take({5, 6, 0}).empty());
  CHECK(take({6, 6, 2}) == Lines{{2, 2, 2}});  // less than shard 0 had lost before
  CHECK(take({9, 6, 3}) == Lines{{0, 3, 9}, {2, 1, 3}});
}
