#include "paddle/log_merge.h"

#include <catch2/catch.hpp>

using namespace paddle;

namespace log_merge_test {

TEST_CASE("the stamp of a log line", "[paddle]") {
  const auto at = [](const char* line) { return log_stamp(line); };
  REQUIRE(at("I1116 09:10:17.123121    50 file.cc:155] message"));
  CHECK(*at("W1116 09:10:17.123122 x") - *at("I1116 09:10:17.123121 x") == 1);
  CHECK(*at("E1116 10:00:00.000000 x") - *at("I1116 09:00:00.000000 x") == 3'600'000'000);
  CHECK(*at("I1201 00:00:00.000000 x") > *at("I1131 23:59:59.999999 x"));
  CHECK_FALSE(at("I1116 09:10:17"));
  CHECK_FALSE(at("X1116 09:10:17.123121 x"));
  CHECK_FALSE(at("I11a6 09:10:17.123121 x"));
  CHECK_FALSE(at(""));
}

TEST_CASE("lines of several processes in the order of time", "[paddle]") {
  const std::vector<LoggedLine> out = merged(
      {{{"a", 1, "a1"}, {"a", 1, "more of a1"}, {"a", 5, "a5"}}, {{"b", 1, "b1"}, {"b", 3, "b3"}}});
  std::string order;
  for (const LoggedLine& line : out) order += line.text + ",";
  CHECK(order == "a1,more of a1,b1,b3,a5,");
}

TEST_CASE("stamps have no year", "[paddle]") {
  const auto at = [](const char* line) { return *log_stamp(line); };
  const int64_t now = at("I0101 00:10:00.000000 x"), before = at("I1231 23:50:00.000000 x");
  CHECK(not_after(now, now) == now);
  CHECK(not_after(before, now) < now);
  CHECK(not_after(before, now) > not_after(at("I1231 23:40:00.000000 x"), now));
  const int64_t clock_ahead = at("I0101 00:11:00.000000 x");
  CHECK(not_after(clock_ahead, now) == clock_ahead);
}

TEST_CASE("whose line it is", "[paddle]") {
  const auto parts = [](std::string_view line) {
    const NamedLine found = without_name(line);
    return std::string(found.process) + "/" + std::string(found.line);
  };
  CHECK(parts("trainer.0  | I1116 a | b") == "trainer.0/I1116 a | b");
  CHECK(parts("pserver | x") == "pserver/x");
  CHECK(parts("trainer.12 |  indented") == "trainer.12/ indented");
  for (const char* other :
       {"launch: x", "trainers | x", "trainer.0", "trainer.0 |", "trainer.x | y", ""})
    CHECK(parts(other) == std::string("/") + other);
}

TEST_CASE("times as people write them", "[paddle]") {
  CHECK(parse_duration("90") == 90);
  CHECK(parse_duration("15m") == 900);
  CHECK(parse_duration("2h") == 7200);
  CHECK(parse_duration("1d") == 86400);
  CHECK(parse_duration("0.5h") == 1800);
  for (const char* wrong : {"", "m", "5x", "-1", "1h2"}) CHECK_FALSE(parse_duration(wrong));
}

}  // namespace log_merge_test
