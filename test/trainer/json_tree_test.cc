#include "trainer/json_tree.h"

#include <catch2/catch.hpp>

using namespace paddle;
using Catch::Matchers::Contains;

TEST_CASE("json tree", "[trainer]") {
  SECTION("keeps values, order and lines") {
    const Value tree = parse_json(
        "// a job\n{\n  \"b\": [1, -2.5e3],\n  a: \"x\\n\", /* two\nlines */ c: true,\n}", "f");
    const Dict& v = *tree.as<Dict>();
    REQUIRE(v.size() == 3);
    CHECK(v[0].first == "b");
    CHECK(text_of(v, "a") == "x\n");
    CHECK(find(v, "a")->key.line == 4);
    CHECK(find(v, "a")->key.column == 3);
    CHECK(find(v, "a")->at.line == 4);
    CHECK(find(v, "a")->at.column == 6);
    CHECK(v[2].second.key.line == 5);
    CHECK(v[2].second.key.column == 10);
    CHECK((*v[0].second.as<List>())[1].at.column == 12);
    CHECK(value_text(tree) == R"({"b": [1, -2.5e3], "a": "x\n", "c": true})");
  }
  SECTION("fills placeholders") {
    const Value tree =
        parse_json(R"({"a": "${n}", "b": "${m:tanh}", "c": "${k:0.5}"})", "f", {{"n", "12"}});
    const Dict& v = *tree.as<Dict>();
    CHECK(*find(v, "a")->as<int64_t>() == 12);
    CHECK(text_of(v, "b") == "tanh");
    CHECK(*find(v, "c")->as<double>() == 0.5);
    CHECK_THROWS_WITH(parse_json(R"({"a": "${n}"})", "f"),
                      Contains("f:1:7: ${n} has no value") && Contains("config_args"));
    CHECK_THROWS_WITH(parse_json(R"({"a": "${size:1}"})", "f", {{"sizes", "1"}}),
                      Contains("did you mean 'size'"));
  }
  SECTION("says where a mistake is") {
    const auto [source, message] = GENERATE(table<std::string, std::string>({
        {"", "f:1:1: the file ends where a value should be"},
        {"{\n\"a\" 1}", "f:2:5: expected ':' after \"a\""},
        {"{\"a\": 1\n\"b\": 2}", "f:2:1: expected ',' or '}'"},
        {"{\"a\": nan}", "'nan': texts stand in quotes"},
        {"{\"a\": 0x10}", "texts stand in quotes"},
        {"{\"a\": 1., \"b\": 1}", "texts stand in quotes"},
        {"{\"a\": \"x\n\"}", "no closing quote"},
        {"{\"a\": \"\\q\"}", "escape"},
        {"{\"a\": 1, \"a\": 2}", "given in line 1"},
        {"{} {}", "expected the end of the file"},
        {"/* x", "has no end"},
        {"[1 2]", "expected ',' or ']'"},
    }));
    CHECK_THROWS_WITH(parse_json(source, "f"), Contains(message));
  }
  SECTION("refuses nesting without end") {
    CHECK_THROWS_WITH(parse_json(std::string(100000, '['), "f"), Contains("levels of nesting"));
  }
}
