#include <catch2/catch.hpp>
#include <cmath>

#include "obs/events.h"
#include "obs/json_fields.h"

using namespace paddle;

namespace {

const event::Source writer{"trainer", "host:1"};

// What the reader makes of what the writer wrote, written again.
std::string again(const event::Any& e) {
  const std::optional<event::Any> read = read_event(event_line(e, writer, 2));
  REQUIRE(read.has_value());
  return event_line(*read, writer, 2);
}

template <class... Events>
std::vector<event::Any> one_of_each(const std::variant<Events...>&) {
  return {event::Any(Events{})...};
}

}  // namespace

TEST_CASE("events are read as they were written", "[obs]") {
  for (const event::Any& e : one_of_each(event::Any{})) CHECK(again(e) == event_line(e, writer, 2));
  const event::Progress progress{.trainer = 1,
                                 .step = 12,
                                 .pass = 3,
                                 .samples = 1LL << 40,
                                 .samples_per_second = 12.5,
                                 .cost = -0.25,
                                 .evaluators = {{"a \"b\"\n", 1}, {"auc", 0.5}}};
  CHECK(again(progress) == event_line(progress, writer, 2));
  const event::Exit end{7, "paddle trainer: \"x\" \\ ä\nnext line\x01"};
  CHECK(again(end) == event_line(end, writer, 2));
  const event::Any read = *read_event(event_line(event::Progress{.cost = NAN}, writer, 2));
  CHECK(std::isnan(std::get<event::Progress>(read).cost));
}

TEST_CASE("lines that are not events", "[obs]") {
  for (const char* line : {"", "{", "{}", "[]", "nonsense", R"({"event": 3})",
                           R"({"event": "not known"})", R"({"event": "joined", "trainer": )"})
    CHECK_FALSE(read_event(line).has_value());
  const auto read =
      read_event(R"({"event": "joined", "trainer": "x", "step": 4, "new": {"a": 1}})");
  REQUIRE(read.has_value());
  CHECK(std::get<event::Joined>(*read).trainer == 0);  // of another type
  CHECK(std::get<event::Joined>(*read).step == 4);
}

TEST_CASE("JSON of one line", "[obs]") {
  const auto json =
      read_json_object(R"( {"a": "x\u00e4\u20ac\n", "b": {"c": -1.5e3}, "d": null} )");
  REQUIRE(json.has_value());
  CHECK(json->find("a")->text == "xä€\n");
  CHECK(json->find("b")->find("c")->text == "-1.5e3");
  CHECK(json->find("d")->kind == JsonField::Kind::null);
  CHECK(json->find("e") == nullptr);
  CHECK(read_json_object("{}").has_value());
  for (const char* bad : {"", "{", "{}}", "{\"a\"}", "{\"a\": }", "{\"a\": 1,}", "{\"a\": \"}",
                          "{\"a\": \"\\q\"}", "{\"a\": \"\\u12\"}", "{\"a\": 1x}", "{\"a\": [1]}",
                          "{\"a\":{\"a\":{\"a\":{\"a\":{}}}}}", "{\"a\": \"\\", "{a: 1}"})
    CHECK_FALSE(read_json_object(bad).has_value());
}
