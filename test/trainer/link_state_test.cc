// What a trainer makes of the answers of one shard.
#include "trainer/link_state.h"

#include <catch2/catch.hpp>

#include "base/error.h"

using namespace paddle;
using Catch::Matchers::Contains;
using Buffer = std::vector<std::byte>;

TEST_CASE("rows land in memory that becomes as long as they are, up to a limit", "[trainer]") {
  LinkState link(0, "a:1");
  auto rows = std::make_shared<Buffer>();
  wire::Message answer{link.expect_rows(rows, 1000), wire::Ack{7, 42}};
  CHECK_THROWS_WITH(link.land(answer, 1001), Contains("1001 bytes that nobody asked for"));
  CHECK(rows->empty());
  const auto landing = link.land(answer, 1000);
  REQUIRE(landing.size() == 1);
  CHECK(landing[0].data() == rows->data());
  CHECK(rows->size() == 1000);
  CHECK_FALSE(link.acked(answer.id));
  link.handle(answer);
  CHECK(link.acked(answer.id));
  CHECK(link.last_answer().version == 7);
  CHECK(link.last_answer().next == 42);
  CHECK_THROWS_WITH(link.land(answer, 10), Contains("nobody asked for"));  // twice
}

TEST_CASE("memory for rows stays while they may still come", "[trainer]") {
  LinkState link(0, "a:1");
  auto rows = std::make_shared<Buffer>();
  const std::weak_ptr<Buffer> alive = rows;
  const wire::Message answer{link.expect_rows(std::move(rows), 1000), wire::Ack{}};
  REQUIRE(!alive.expired());  // whoever asked has given up, and the connection is still open
  CHECK(link.land(answer, 500)[0].size() == 500);
  link.dropped();
  CHECK(alive.expired());
  CHECK_THROWS_WITH(link.land(answer, 500), Contains("nobody asked for"));
}
