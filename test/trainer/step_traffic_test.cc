#include "trainer/step_traffic.h"

#include <catch2/catch.hpp>

#include "trainer/exchange_support.h"

using namespace paddle;

TEST_CASE("what a step moves", "[trainer]") {
  // Three parameters of 1000, 10 and 20 floats on two shards, and a shard that has none.
  const Cut cut = test::cut_by_hand({1000, 10, 20}, {0, 1, 1}, 3);
  SECTION("one message each way for each slice that travels alone") {
    const auto shards = step_traffic(SliceLayout(cut, {.slices = 1}));
    REQUIRE(shards.size() == 3);
    CHECK(shards[0].messages == 1);
    CHECK(shards[1].messages == 2);
    CHECK(shards[2].messages == 0);
    CHECK(shards[2].bytes_pushed == 0);
    CHECK(shards[0].bytes_pushed > 4000);
    CHECK(shards[0].bytes_pushed < 4000 + 300);
    CHECK(shards[0].bytes_pulled < shards[0].bytes_pushed);  // no position in the data
    CHECK(shards[0].bytes_pulled > 4000);
  }
  SECTION("one message each way for a group") {
    const auto alone = step_traffic(SliceLayout(cut, {.slices = 1})),
               together = step_traffic(SliceLayout(cut, {.slices = 100}));
    CHECK(together[1].messages == 1);
    CHECK(together[1].bytes_pushed < alone[1].bytes_pushed);
    CHECK(together[1].bytes_pushed > 4 * 30);
    CHECK(traffic_line(together).find("per step and trainer: 2 messages each way, ") == 0);
  }
}
