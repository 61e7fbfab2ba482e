#include "base/suggest.h"

#include <catch2/catch.hpp>

using namespace paddle;

TEST_CASE("suggest", "[base]") {
  const std::vector<std::string> known = {"trainers", "trainer_id", "port", "ports_num"};

  SECTION("finds swapped, missing and wrong letters") {
    CHECK(nearest("trianers", known) == "trainers");
    CHECK(nearest("port_num", known) == "ports_num");
    CHECK(nearest("Trainer_id", known) == "trainer_id");
  }
  SECTION("prefers what begins as the word does") {
    CHECK(nearest("mull", std::vector<std::string>{"pull", "mul", "null"}) == "mul");
  }
  SECTION("says nothing where nothing is near") {
    CHECK(nearest("momentum", known).empty());
    CHECK(did_you_mean("x", known).empty());
    CHECK(nearest("x", std::vector<std::string>{"v", "y"}).empty());
    CHECK(nearest("X", std::vector<std::string>{"v", "x"}) == "x");
    CHECK(nearest(std::string(5000, 'x'), known).empty());
  }
  SECTION("lists words as a sentence does") {
    CHECK(listed(std::vector<std::string>{"a", "b", "c"}) == "a, b and c");
    CHECK(listed(std::vector<std::string>{"a"}) == "a");
  }
}
