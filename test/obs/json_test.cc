#include "obs/json.h"

#include <catch2/catch.hpp>
#include <cmath>

using namespace paddle;

TEST_CASE("JSON values", "[obs]") {
  CHECK(json_value("a \"b\" \\ \n\t") == R"("a \"b\" \\ \u000a\u0009")");
  CHECK(json_value("\xC3\xA4 \xFF \xE2\x82") ==
        "\"\xC3\xA4 \xEF\xBF\xBD \xEF\xBF\xBD\xEF\xBF\xBD\"");
  CHECK(json_value(true) == "true");
  CHECK(json_value(uint64_t{18446744073709551615u}) == "18446744073709551615");
  CHECK(json_value(int64_t{-1}) == "-1");
  CHECK(json_value(0.25) == "0.25");
  CHECK(json_value(double{NAN}) == "null");
  CHECK(json_value(double{INFINITY}) == "null");
}

TEST_CASE("JSON texts are cut between characters", "[obs]") {
  CHECK(json_value(std::string_view("abcdefgh"), 10) == "\"abcdefgh\"");
  CHECK(json_value(std::string_view("abcdefghi"), 10) == "\"abcde…\"");
  for (size_t limit = 5; limit < 40; ++limit) {
    const std::string cut = json_value(std::string_view("ä\"ä\x01ä\"ä\x01ä\"ä\x01"), limit);
    CHECK(cut.size() <= limit);
    CHECK(cut.front() == '"');
    CHECK(cut.back() == '"');
    CHECK(json_value(std::string_view(cut)).find("\xEF\xBF\xBD") == std::string::npos);
  }
}

TEST_CASE("JSON objects", "[obs]") {
  CHECK(JsonObject().done() == "{}");
  CHECK(JsonObject().add("a", "x").add("b", 1.5).raw("c", "[]").done() ==
        R"({"a": "x", "b": 1.5, "c": []})");
  const int64_t numbers[] = {1, 2};
  CHECK(json_list(numbers, [](int64_t n) { return json_value(n); }) == "[1, 2]");
}
